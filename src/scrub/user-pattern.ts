/** An operator's own pattern: only with bounded work per place, or it is refused when the config loads. */
import { WraptoolError } from '../errors.ts';

export type UserPattern = { readonly name: string; readonly regex: string };

/** Steps that one place of the text may cost at worst. */
const mostSteps = 100_000;
/** Longest match; as far as the stream waits. */
const longestMatch = 8 * 1024;

/**
 * @throws WraptoolError config_invalid: not a regular expression, may match nothing, unbounded, or too much work.
 */
export function compileUserPattern({ name, regex }: UserPattern): RegExp {
  const refuse = (why: string, hint: string, cause?: unknown) =>
    new WraptoolError('config_invalid', `scrub pattern '${name}' ('${regex}') ${why}`, { hint, cause });
  let expression: RegExp;
  try {
    expression = new RegExp(regex, 'gu');
  } catch (cause) {
    throw refuse('is not a regular expression', 'write it as JavaScript does, with its u flag', cause);
  }
  if (new RegExp(`^(?:${regex})$`, 'u').test(''))
    throw refuse('matches the empty text', 'ask for at least one character');
  const cost = costOf(regex);
  if (cost.unbounded)
    throw refuse('has no bound', "write a bound instead of '*', '+' or '{n,}', for example {1,200}");
  if (cost.reference) throw refuse('refers back to a group', 'write what is meant in full');
  if (cost.steps > mostSteps || cost.longest > longestMatch)
    throw refuse('could take too long', 'use smaller bounds, and no repetition inside a repetition');
  return expression;
}

export type Cost = { steps: number; longest: number; unbounded: boolean; reference: boolean };

/** The worst that backtracking at one place can cost: repetitions in a row and in each other multiply. */
export function costOf(source: string): Cost {
  let at = 0;
  const total: Cost = { steps: 1, longest: 0, unbounded: false, reference: false };

  const alternatives = (): { steps: number; longest: number } => {
    let steps = 0;
    let longest = 0;
    do {
      const one = sequence();
      steps += one.steps;
      longest = Math.max(longest, one.longest);
    } while (source[at] === '|' && ++at > 0);
    return { steps, longest };
  };
  const sequence = (): { steps: number; longest: number } => {
    let steps = 1;
    let longest = 0;
    while (at < source.length && source[at] !== '|' && source[at] !== ')') {
      const one = atom();
      const { least, most } = quantifier();
      const times = most - least + 1;
      steps *= Math.min(
        Number.MAX_VALUE,
        Math.max(1, one.steps > 1 ? one.steps ** Math.max(1, most) * times : times),
      );
      longest += one.longest * most;
    }
    return { steps, longest };
  };
  const atom = (): { steps: number; longest: number } => {
    const char = source[at++];
    if (char === '(') {
      const head = /^\?(?:[:=!]|<[=!]|<[^>]+>)/.exec(source.slice(at))?.[0] ?? '';
      at += head.length;
      const inner = alternatives();
      at += 1;
      return inner;
    }
    if (char === '[') {
      while (at < source.length && source[at] !== ']') at += source[at] === '\\' ? 2 : 1;
      at += 1;
    } else if (char === '\\') {
      if (/[1-9k]/.test(source[at] ?? '')) total.reference = true;
      const escape =
        /^(?:[pP]\{[^}]*\}|u\{[^}]*\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|.)/s.exec(
          source.slice(at),
        )?.[0] ?? '';
      at += escape.length;
    }
    return { steps: 1, longest: 1 };
  };
  const quantifier = (): { least: number; most: number } => {
    const found = /^(?:[*+?]|\{(\d+)(,?)(\d*)\})\??/.exec(source.slice(at));
    if (found === null) return { least: 1, most: 1 };
    at += found[0].length;
    if (found[0].startsWith('?')) return { least: 0, most: 1 };
    if (found[1] === undefined || (found[2] === ',' && found[3] === '')) {
      total.unbounded = true;
      return { least: 0, most: 1 };
    }
    const least = Number(found[1]);
    return { least, most: found[2] === '' ? least : Number(found[3]) };
  };

  const whole = alternatives();
  return { ...total, ...whole };
}
