/** What is asked to be allowed, and whether it may be written at all. */
import { EditRefused } from './refuse.ts';
import type { PolicyTool, Rule } from './policy-read.ts';

export type AllowRequest = {
  readonly tool: string;
  /** Words parted by single spaces; null for the bare tool. */
  readonly subcommand: string | null;
  readonly flags: readonly string[];
  /** From a refused call: a rule of its own, exactly as wide as that call. */
  readonly exact?: ExactCall | undefined;
};

export type ExactCall = {
  /** Per flag the values seen; none: the flag was bare. */
  readonly values: Readonly<Record<string, readonly string[]>>;
  /** Positionals in order. */
  readonly args: readonly string[];
  /** Flags that were given more than once. */
  readonly repeat?: readonly string[] | undefined;
  /** Flags whose value may be left out, by what other rules of the subcommand say. */
  readonly optional?: readonly string[] | undefined;
  /** Flags whose value was a word of its own. */
  readonly detached?: readonly string[] | undefined;
  /** Whether "--" was given. */
  readonly end?: boolean | undefined;
  /** Leaves open what values the flags have, or that and the positionals too. */
  readonly open?: 'flags' | 'all' | undefined;
};

// Control, bidi and zero-width characters, lone surrogates, letters that are drawn as nothing: what an approver would
// not see.
const hidden =
  /[\u034F\u17B4\u17B5\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u115F\u1160\u2060-\u206F\u3164\uFFA0\u{E0000}-\u{E007F}]/u;

export function checkRequest({ tool, subcommand, flags, exact }: AllowRequest): void {
  const named = [
    ['the tool', [tool]],
    ['the subcommand', subcommand === null ? [] : [subcommand]],
    ['a flag', flags],
    ['a value', Object.values(exact?.values ?? {}).flat()],
    ['an argument', exact?.args ?? []],
  ] as const;
  for (const [what, texts] of named)
    for (const text of texts) {
      if (text === '' && what !== 'a value' && what !== 'an argument')
        throw new EditRefused('request_malformed', `${what} is empty`);
      if (hidden.test(text)) throw new EditRefused('request_malformed', `${what} holds a control character`);
    }
  const words = wordsOf(subcommand);
  if (words.some((word) => word === '' || word.startsWith('-') || /\s/.test(word)))
    throw new EditRefused(
      'request_malformed',
      'a subcommand is words parted by single spaces, none with a dash first',
    );
  if (flags.some((flag) => !/^-[^\s=]+$/.test(flag) || /^-+$/.test(flag)))
    throw new EditRefused('request_malformed', 'a flag is named with its dashes and without a value');
}

/** Refuses what a deny rule would still refuse once it were allowed. */
export function checkDenied({ deny }: PolicyTool, { subcommand, flags }: AllowRequest): void {
  const words = wordsOf(subcommand);
  for (const rule of deny) {
    const path = wordsOf(rule.subcommand);
    if (!path.every((word, index) => words[index] === word)) continue;
    const name = rule.subcommand === null ? 'the bare tool' : `'${rule.subcommand}'`;
    if (rule.flags.length === 0 && !rule.argsPattern)
      throw new EditRefused('denied_by_rule', `a deny rule for ${name} covers it`);
    const flag = flags.find((asked) => isDenied(asked, rule));
    if (flag !== undefined)
      throw new EditRefused('denied_by_rule', `a deny rule for ${name} names '${flag}'`);
  }
}

function isDenied(flag: string, { flags }: Rule): boolean {
  if (flags === 'any') return true;
  // Several CLIs take "_" for "-".
  const asked = flag.replaceAll('_', '-');
  return flags
    .map((name) => name.replaceAll('_', '-'))
    .some((denied) => denied === asked || (asked.startsWith('--') && denied.startsWith(asked)));
}

function wordsOf(subcommand: string | null): string[] {
  return subcommand === null ? [] : subcommand.split(' ');
}

type Constraint = Readonly<Record<string, string | boolean | readonly string[]>>;

/** The keys of the rule beside `subcommand` and `flags`, as data. */
export function exactKeys({ flags, exact }: AllowRequest): Readonly<Record<string, unknown>> {
  if (exact === undefined) return {};
  const constraints = [...new Set(flags)].flatMap((flag) => {
    const constraint = flagConstraint(flag, exact);
    return Object.keys(constraint).length === 0 ? [] : [[flag, constraint] as const];
  });
  return {
    ...(constraints.length === 0 ? {} : { flag_constraints: Object.fromEntries(constraints) }),
    ...(exact.args.length === 0
      ? {}
      : { args: exact.open === 'all' ? 'any' : exact.args.map((arg) => ({ enum: [arg] })) }),
    ...(exact.end ? { end_of_options: true } : {}),
  };
}

function flagConstraint(flag: string, exact: ExactCall): Constraint {
  const seen = exact.values[flag] ?? [];
  const repeat = exact.repeat?.includes(flag) ? { repeat: true } : {};
  const optional = exact.optional?.includes(flag) ? { value: 'optional' } : {};
  if (exact.open)
    return { ...(exact.detached?.includes(flag) ? { value: 'required' } : optional), ...repeat };
  // Without it the call would be another one: `--dry-run` left out is the deed itself.
  const required = { required: true };
  if (seen.length === 0) return { value: 'none', ...repeat, ...required };
  return { ...optional, enum: [...new Set(seen)], ...repeat, ...required };
}
