/** Options and operands of a command line, as getopt reads them. */

export type Spec = {
  /** Short options that take a value. */
  readonly values?: string;
  /** Short options whose value is only ever attached. */
  readonly attached?: string;
  /** Long options that take a value, without dashes. */
  readonly long?: readonly string[];
  /** Options may stand after the first operand. */
  readonly mixed?: boolean;
};

export type Options = {
  /** Each option without its dashes, with the values that it was given ('' where it takes none). */
  readonly flags: ReadonlyMap<string, readonly string[]>;
  readonly rest: readonly string[];
};

export function readOptions(args: readonly string[], spec: Spec): Options {
  const flags = new Map<string, string[]>();
  const rest: string[] = [];
  const add = (name: string, value: string): void =>
    void flags.set(name, [...(flags.get(name) ?? []), value]);
  let at = 0;
  const next = (): string => args[++at] ?? '';
  for (; at < args.length; at += 1) {
    const word = args[at] ?? '';
    if (word === '--') {
      rest.push(...args.slice(at + 1));
      break;
    }
    if (word.startsWith('--')) longOption(word, spec, add, next);
    else if (word.startsWith('-') && word.length > 1) cluster(word, spec, add, next);
    else if (spec.mixed === true) rest.push(word);
    else {
      rest.push(...args.slice(at));
      break;
    }
  }
  return { flags, rest };
}

type Add = (name: string, value: string) => void;

function longOption(word: string, spec: Spec, add: Add, next: () => string): void {
  const [, name = '', value] = /^--([^=]*)(?:=([^]*))?$/.exec(word) ?? [];
  const exact = spec.long?.includes(name) === true ? name : undefined;
  const valued = exact ?? (name.length > 1 ? spec.long?.find((one) => one.startsWith(name)) : undefined);
  if (value !== undefined) add(valued ?? name, value);
  else if (valued !== undefined) add(valued, next());
  else add(name, '');
}

function cluster(word: string, spec: Spec, add: Add, next: () => string): void {
  for (let at = 1; at < word.length; at += 1) {
    const letter = word[at] ?? '';
    const attached = word.slice(at + 1);
    if (spec.attached?.includes(letter) === true) return add(letter, attached);
    if (spec.values?.includes(letter) === true) return add(letter, attached === '' ? next() : attached);
    add(letter, '');
  }
}

export function has(options: Options, ...names: string[]): boolean {
  return names.some((name) => options.flags.has(name));
}

export function valueOf(options: Options, ...names: string[]): string | undefined {
  for (const name of names) {
    const value = options.flags.get(name)?.at(-1);
    if (value !== undefined) return value;
  }
  return undefined;
}
