/** Entries of a text to flags: names told apart, each once, values that only the description tells. */
import type { FlagEntry, FlagValue, HelpFlag } from './types.ts';

const maxDescription = 400;
const maxFlags = 5000;

/** What needs the whole list to be read. */
export function mend(entries: readonly FlagEntry[]): FlagEntry[] {
  const alone = new Set(
    entries
      .filter(({ names, value }) => names.length === 1 && value !== 'none')
      .flatMap(({ names }) => names),
  );
  const letters = onlyLetters(entries);
  return entries.map((entry) => {
    const told = withoutMeaning(fromDescription(entry), alone);
    return letters ? withGlued(told) : told;
  });
}

/** yargs, tsc and Python say in the description what a value is, or a further name. */
function fromDescription(entry: FlagEntry): FlagEntry {
  const { description } = entry;
  const also = /\(also (-[^\s)]{1,40})(?: or (-[^\s)]{1,40}))?\)/.exec(description);
  const names = also ? [...entry.names, ...also.slice(1).filter((name) => name !== undefined)] : entry.names;
  const typed =
    /\[(?:string|number|array|choices?)\b/.test(description) ||
    (/\[default: (?!true|false)/.test(description) && !/\[(?:boolean|count)\]/.test(description)) ||
    /\b(?:type: (?:string|number|list)|one of:|one or more:)/.test(description);
  const value: FlagValue = entry.value === 'none' && typed ? 'required' : entry.value;
  return { ...entry, names, value };
}

/** Whether every name is a single letter, so that `-Idirectory` is one with its value. */
function onlyLetters(entries: readonly FlagEntry[]): boolean {
  const names = entries.flatMap((entry) => entry.names);
  return names.length >= 5 && names.filter((name) => name.length === 2).length >= names.length * 0.9;
}

function withGlued(entry: FlagEntry): FlagEntry {
  const [name = ''] = entry.names;
  return entry.names.length === 1 && /^-[A-Z][a-z]{3,}$/.test(name)
    ? { ...entry, names: [name.slice(0, 2)], value: 'required' }
    : entry;
}

/** `-p, --indicator-style=slash`: what a letter stands for, where that flag has its own entry. */
function withoutMeaning(entry: FlagEntry, alone: ReadonlySet<string>): FlagEntry {
  const [letter = '', long = ''] = entry.names;
  const meant = entry.names.length === 2 && !isLong(letter) && entry.value !== 'none' && alone.has(long);
  return meant ? { ...entry, names: [letter], value: 'none' } : entry;
}

/** Listed flags first; of the usage what no list has, except other spellings of help and version beside a list. */
export function flagsOfEntries(listed: readonly FlagEntry[], usage: readonly FlagEntry[]): HelpFlag[] {
  const seen = new Set<string>();
  const out: HelpFlag[] = [];
  const beside = listed.length > 0;
  const taking = new Set(usage.filter(({ value }) => value === 'required').flatMap(({ names }) => names));
  for (const entry of listed)
    add(
      entry.value === 'none' && entry.names.some((name) => taking.has(name))
        ? { ...entry, value: 'required' }
        : entry,
    );
  const known = new Map(listed.flatMap(({ names, value }) => names.map((name) => [name, value] as const)));
  for (const entry of pairs(usage))
    if (!beside || !(entry.names.some(isHelp) || isSpelling(entry, known))) add(entry);
  return out;

  function add({ names, value, description }: FlagEntry): void {
    const fresh = names.filter((name) => !seen.has(name));
    const at = (index: number): string | null => fresh[index] ?? null;
    const double = fresh.findIndex((name) => name.startsWith('--'));
    const long = at(double < 0 ? fresh.findIndex(isLong) : double);
    const short = at(fresh.findIndex((name) => !isLong(name)));
    const others = fresh.filter((name) => name !== long && name !== short);
    for (const name of fresh) seen.add(name);
    const about = { value, description: description.slice(0, maxDescription) };
    if ((long ?? short) !== null && out.length < maxFlags) out.push({ long, short, ...about });
    for (const name of others)
      if (out.length < maxFlags)
        out.push({ ...(isLong(name) ? { long: name, short: null } : { long: null, short: name }), ...about });
  }
}

function isLong(name: string): boolean {
  return name.length > 2;
}

/** `-Zscript` and `-xi list` are listed letters, written together. */
function isSpelling({ names: [name = ''] }: FlagEntry, known: ReadonlyMap<string, FlagValue>): boolean {
  if (name.startsWith('--') || !isLong(name)) return false;
  const first = known.get(name.slice(0, 2)) ?? 'none';
  return first !== 'none' || Array.from(name.slice(1)).every((letter) => known.has(`-${letter}`));
}

function isHelp(name: string): boolean {
  return /^(?:-h|-v|-V|--help|--version)$/.test(name);
}

/** A usage names a letter and then its long form: `[-v | --version]`. */
function pairs(entries: readonly FlagEntry[]): FlagEntry[] {
  const out: FlagEntry[] = [];
  for (const entry of entries) {
    const last = out.at(-1);
    const [name = ''] = entry.names;
    const joins =
      last !== undefined &&
      last.names.length === 1 &&
      !isLong(last.names[0]!) &&
      name.startsWith('--') &&
      last.value === entry.value;
    const letter = last?.names[0]?.[1] ?? '';
    if (joins && name.startsWith(`--${letter.toLowerCase()}`))
      out[out.length - 1] = { ...entry, names: [...last.names, ...entry.names] };
    else out.push(entry);
  }
  return out;
}
