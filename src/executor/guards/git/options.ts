/** Options of the remote verbs, by table: what is not in it is refused by name. */
import { Refusal } from './refusal.ts';

export type OptionTable = Readonly<
  Record<string, { readonly name: string; readonly value?: 'attached' | 'required' | 'optional' }>
>;

export type Parsed = {
  /** By name of the table; a value is the last one given, true where there is none. */
  readonly flags: ReadonlyMap<string, string | true>;
  /** Every value of an option that was given more than once, in order. */
  readonly all: ReadonlyMap<string, readonly (string | true)[]>;
  readonly positionals: readonly string[];
};

/**
 * Long options (whole names only), short ones, clusters of short ones without values, `--`.
 * @throws Refusal naming the option that cannot be carried over.
 */
export function parseOptions(verb: string, args: readonly string[], table: OptionTable): Parsed {
  const all = new Map<string, (string | true)[]>();
  const positionals: string[] = [];
  const note = (name: string, value: string | true) => all.set(name, [...(all.get(name) ?? []), value]);
  const refuse = (flag: string): never => {
    throw new Refusal(`'git ${verb} ${flag}' cannot be carried over to the operator's own repository`);
  };
  let ended = false;
  for (let at = 0; at < args.length; at++) {
    const arg = args[at]!;
    if (ended || !arg.startsWith('-') || arg === '-') {
      positionals.push(arg);
      continue;
    }
    if (arg === '--') {
      ended = true;
      continue;
    }
    const [flag, attached] = arg.startsWith('--') ? cut(arg) : [arg, undefined];
    const entry = Object.hasOwn(table, flag) ? table[flag] : undefined;
    if (entry === undefined) {
      if (arg.startsWith('--') || arg.length < 3) refuse(flag);
      for (const letter of arg.slice(1)) {
        const short = Object.hasOwn(table, `-${letter}`) ? table[`-${letter}`] : undefined;
        if (short === undefined || short.value !== undefined) refuse(`-${letter}`);
        else note(short.name, true);
      }
      continue;
    }
    if (attached !== undefined && entry.value === undefined) refuse(arg);
    if (attached !== undefined) note(entry.name, attached);
    else if (entry.value === 'required') {
      at += 1;
      if (at >= args.length) refuse(flag);
      note(entry.name, args[at]!);
    } else if (entry.value === 'attached') refuse(flag);
    else note(entry.name, true);
  }
  return { flags: new Map([...all].map(([name, values]) => [name, values.at(-1)!])), all, positionals };
}

function cut(arg: string): [string, string | undefined] {
  const at = arg.indexOf('=');
  return at === -1 ? [arg, undefined] : [arg.slice(0, at), arg.slice(at + 1)];
}
