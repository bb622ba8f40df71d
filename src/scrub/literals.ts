/** A configured value in the forms in which programs print it. */

export type Literal = { readonly name: string; readonly value: string };

/** A shorter value would redact ordinary text all over. */
export const shortestLiteral = 6;
/** A base64 core shorter than this is found in ordinary text. */
const shortestCore = 8;

export type Form = {
  readonly name: string;
  readonly text: string;
  /** The surroundings belong to the same base64 word (user:password in a Basic header). */
  readonly base64: boolean;
};

export function formsOf({ name, value }: Literal): Form[] {
  const bytes = Buffer.from(value, 'utf8');
  const plain = new Set<string>([value, ...percentForms(value), ...jsonForms(value)]);
  if (value.includes('\n')) plain.add(value.replaceAll('\n', '\r\n'));
  const trimmed = value.trim();
  if (trimmed.length >= shortestLiteral) plain.add(trimmed);
  const hex = bytes.toString('hex');
  plain.add(hex).add(hex.toUpperCase());
  const whole = bytes.toString('base64');
  for (const width of [64, 76]) if (whole.length > width) plain.add(wrapped(whole, width));
  const cores = new Set<string>();
  for (const offset of [0, 1, 2]) {
    const core = base64Core(bytes, offset);
    if (core.length >= shortestCore) cores.add(core).add(core.replaceAll('+', '-').replaceAll('/', '_'));
  }
  return [
    ...[...plain].map((text) => ({ name, text, base64: false })),
    ...[...cores].filter((text) => !plain.has(text)).map((text) => ({ name, text, base64: true })),
  ];
}

/** The characters of the base64 that only the value decides, when `offset` other bytes stand before it. */
function base64Core(bytes: Buffer, offset: number): string {
  const encoded = Buffer.concat([Buffer.alloc(offset), bytes])
    .toString('base64')
    .replace(/=+$/, '');
  const head = offset === 0 ? 0 : offset + 1;
  const tail = (bytes.length + offset) % 3 === 0 ? 0 : 1;
  return encoded.slice(head, encoded.length - tail);
}

function wrapped(text: string, width: number): string {
  return text.match(new RegExp(`.{1,${width}}`, 'g'))?.join('\n') ?? text;
}

function percentForms(value: string): string[] {
  const strict = encodeURIComponent(value.toWellFormed()).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  const forms = [
    encodeURIComponent(value.toWellFormed()),
    strict,
    strict.replaceAll('%2F', '/'),
    strict.replaceAll('%20', '+'),
    encodeURI(value.toWellFormed()),
  ];
  return forms.flatMap((form) => [form, form.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())]);
}

function jsonForms(value: string): string[] {
  const inner = (text: string) => JSON.stringify(text).slice(1, -1);
  const once = inner(value);
  const codes = (text: string, of: RegExp) =>
    text.replace(of, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return [
    once,
    inner(once),
    once.replaceAll('/', '\\/'),
    codes(once, /[<>&]/g),
    codes(once, /[<>&'+]/g),
    codes(once, /[\u0080-\uffff]/g),
  ];
}
