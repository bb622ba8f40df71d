/** Encodings that text goes through on its way. */
import { outside } from '../holes.ts';

const simple: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  a: '\x07',
  b: '\b',
  f: '\f',
  v: '\v',
  e: '\x1b',
  E: '\x1b',
  '\\': '\\',
  '"': '"',
  "'": "'",
};

/** Backslash escapes as printf and `echo -e` read them. */
export function unescape(text: string): string {
  return text.replace(
    /\\(?:0?([0-7]{1,3})|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([ntrabfveE\\"']))/g,
    (_whole, octal?: string, hex?: string, short?: string, long?: string, letter?: string) => {
      if (letter !== undefined) return simple[letter] ?? letter;
      const code =
        octal === undefined ? Number.parseInt(hex ?? short ?? long ?? '0', 16) : Number.parseInt(octal, 8);
      return code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff)
        ? outside(String.fromCodePoint(code))
        : '';
    },
  );
}

export function fromBase64(text: string): string {
  return outside(Buffer.from(text.replace(/\s+/g, ''), 'base64').toString('utf8'));
}

export function toBase64(text: string): string {
  return Buffer.from(text).toString('base64');
}

export function fromBase32(text: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
  let bits = 0;
  let held = 0;
  const bytes: number[] = [];
  for (const character of text.toUpperCase()) {
    const value = alphabet.indexOf(character);
    if (value < 0) continue;
    held = ((held << 5) | value) & 0xfff;
    bits += 5;
    if (bits >= 8) {
      bits -= 8;
      bytes.push((held >> bits) & 0xff);
    }
  }
  return outside(Buffer.from(bytes).toString('utf8'));
}

export function fromHex(text: string): string {
  // xxd's own lines: an offset in front, the text behind.
  const digits = text
    .replace(/^[0-9a-f]+:/gim, '')
    .replace(/ {2,}.*$/gm, '')
    .replace(/\\x|0x|[^0-9a-f]/gi, '');
  return outside(Buffer.from(digits, 'hex').toString('utf8'));
}

/** The characters of a set of tr: ranges, escapes and classes written out. */
export function characterSet(set: string): string[] {
  const classes: Readonly<Record<string, string>> = {
    '[:lower:]': 'abcdefghijklmnopqrstuvwxyz',
    '[:upper:]': 'ABCDEFGHIJKLMNOPQRSTUVWXYZ',
    '[:digit:]': '0123456789',
    '[:space:]': ' \t\n\r\v\f',
    '[:blank:]': ' \t',
    '[:alpha:]': 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz',
  };
  const plain = Array.from(
    unescape(set.slice(0, 600).replace(/\[:[a-z]+:\]/g, (name) => classes[name] ?? '')),
  );
  const out: string[] = [];
  for (let at = 0; at < plain.length && out.length < 1024; at += 1) {
    const low = plain[at] ?? '';
    const high = plain[at + 1] === '-' ? plain[at + 2] : undefined;
    if (high === undefined || high < low) out.push(low);
    else {
      for (
        let code = low.codePointAt(0) ?? 0;
        code <= (high.codePointAt(0) ?? 0) && out.length < 1024;
        code += 1
      )
        out.push(String.fromCodePoint(code));
      at += 2;
    }
  }
  return out;
}
