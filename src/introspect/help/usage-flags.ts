/** The flags that stand in a usage: `[-v | --verbose]`, `[-o FILE]`, letters behind one dash, iproute2's abbreviations. */
import { scanName } from './flag-line.ts';
import { closing } from './text.ts';
import type { FlagEntry, FlagValue } from './types.ts';

/** A word or a whole bracket of a form. */
export type Item = { readonly text: string; readonly bracket: boolean };

/** Adds the flags of a bracket or a bare flag; how many further items are its value. */
export function readFlag(rest: readonly Item[], index: number, flags: FlagEntry[]): number {
  const { text } = rest[index]!;
  const next = rest[index + 1];
  if (text.startsWith('-')) {
    const takes = next !== undefined && !next.bracket && /^[A-Z<]|^[a-z]+$/.test(next.text);
    flags.push(...flagsOf(takes ? `${text} ${next.text}` : text));
    return takes ? 1 : 0;
  }
  flags.push(...bracketFlags(text));
  return 0;
}

/** The alternatives of one bracket. */
export function bracketFlags(text: string): FlagEntry[] {
  const end = '[({'.includes(text[0] ?? ' ') ? closing(text, 0) : -1;
  return end < 0 ? [] : splitTop(text.slice(1, end - 1)).flatMap((part) => flagsOf(part.trim()));
}

/** Parts between the bars that stand outside of brackets. */
function splitTop(text: string): string[] {
  const parts: string[] = [];
  let from = 0;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text[at]!;
    if ('[<{('.includes(char)) depth++;
    else if (']>})'.includes(char)) depth--;
    else if (char === '|' && depth === 0) {
      parts.push(text.slice(from, at));
      from = at + 1;
    }
  }
  return [...parts, text.slice(from)];
}

/** One alternative: a flag with its value, or letters behind one dash. */
function flagsOf(part: string): FlagEntry[] {
  if (part.startsWith('[') || part.startsWith('(')) {
    const end = closing(part, 0);
    if (end !== part.length || !part.includes('-')) return [];
    return splitTop(part.slice(1, end - 1)).flatMap((one) => flagsOf(one.trim()));
  }
  const name = scanName(part, 0);
  if (name === null) return [];
  const [first = ''] = name.names;
  const rest = part.slice(name.end);
  if (/^-(?:options?|opts|flags?|switches|[A-Z]{3,})$/.test(first)) return [];
  if (rest === '' && isCluster(first))
    return Array.from(first.slice(1)).map((letter) => entry([`-${letter}`], 'none'));
  if (/^\[-[a-z-]+\]$/.test(rest))
    return [entry(name.names, 'none'), entry([first + rest.slice(1, -1)], 'none')];
  return [entry(name.names, valueOf(rest))];
}

function entry(names: readonly string[], value: FlagValue): FlagEntry {
  return { names, value, description: '' };
}

function valueOf(rest: string): FlagValue {
  const text = rest.trim().replace(/^\.\.\./, '');
  if (text === '' || text.startsWith('|') || text.startsWith(',')) return 'none';
  if (rest.startsWith('[')) return 'optional';
  return text.startsWith('[') && text.endsWith(']') && closing(text, 0) === text.length
    ? 'optional'
    : 'required';
}

/** Letters that each are a flag, and no word: mixed case, digits, or in the order of the alphabet. */
function isCluster(name: string): boolean {
  if (name.length < 3 || name.startsWith('--')) return false;
  // `-WIDTH` and `-NUM` stand for a number.
  if (/^-[A-Z]{3,}$/.test(name)) return false;
  const letters = Array.from(name.slice(1));
  if (new Set(letters).size !== letters.length || letters.includes('-')) return false;
  const mixed = letters.slice(1).some((letter) => letter !== letter.toLowerCase()) || /\d/.test(name);
  return mixed || letters.every((letter, at) => at === 0 || letters[at - 1]! < letter);
}

/** `-s[tatistics] | -f[amily] { inet | inet6 } | -4`: a short name, the whole one, and the value. */
export function abbreviated(body: string): FlagEntry[] {
  const end = '[{'.includes(body[0] ?? ' ') ? closing(body, 0) : -1;
  const inside = end > 0 ? body.slice(1, end - 1) : body;
  // A bar is left out now and then: `-c[olor] -j[son]`.
  const parts = splitTop(inside).flatMap((part) => part.trim().split(/ (?=-)/));
  return parts.flatMap((text) => {
    const short = /^(-[A-Za-z]+)\[([a-z-]+)\]/.exec(text);
    if (!short) return flagsOf(text);
    return [entry([short[1]!, short[1]! + short[2]!], valueOf(` ${text.slice(short[0].length).trim()}`))];
  });
}
