/** The three characters with which an expression can begin, for expressions made of characters, classes and groups. */

const length = 3;

/**
 * @param head, tail: characters, escapes, classes without escapes in them, `(?:…|…)`, `?`, `{n}` and `{n,m}`.
 *   The tail is read only where the head can be shorter than three characters.
 */
export function startsOf(head: string, tail: string): string[] {
  const starts = [...alternatives({ source: head, at: 0 })];
  if (starts.every((start) => start.length === length)) return starts;
  return [...alternatives({ source: head + tail, at: 0 })].filter((start) => start.length === length);
}

type Reader = { readonly source: string; at: number };

function alternatives(reader: Reader): Set<string> {
  const all = new Set(sequence(reader));
  while (reader.source[reader.at] === '|') {
    reader.at += 1;
    for (const start of sequence(reader)) all.add(start);
  }
  return all;
}

function sequence(reader: Reader): Set<string> {
  let starts = new Set(['']);
  while (reader.at < reader.source.length && !'|)'.includes(reader.source[reader.at]!)) {
    const next = atom(reader);
    const { least, most } = quantifier(reader);
    const reached = least === 0 ? new Set(starts) : new Set<string>();
    for (let times = 1; times <= Math.min(most, length); times++) {
      starts = product(starts, next);
      if (times >= Math.min(least, length)) for (const start of starts) reached.add(start);
    }
    starts = reached;
  }
  return starts;
}

function product(heads: Set<string>, tails: Set<string>): Set<string> {
  const all = new Set<string>();
  for (const head of heads) {
    if (head.length === length) all.add(head);
    else for (const tail of tails) all.add((head + tail).slice(0, length));
  }
  return all;
}

function atom(reader: Reader): Set<string> {
  const char = reader.source[reader.at++]!;
  if (char === '\\') return new Set([reader.source[reader.at++]!]);
  if (char === '[') return classOf(reader);
  if (char !== '(') return new Set([char]);
  const head = /^\?(?::|<?[=!])/.exec(reader.source.slice(reader.at))![0];
  reader.at += head.length;
  const inner = alternatives(reader);
  reader.at += 1;
  return head === '?:' ? inner : new Set(['']);
}

function classOf(reader: Reader): Set<string> {
  const end = reader.source.indexOf(']', reader.at);
  const body = reader.source.slice(reader.at, end);
  reader.at = end + 1;
  const chars = Array.from({ length: 95 }, (_, at) => String.fromCharCode(32 + at));
  const one = new RegExp(`[${body}]`);
  return new Set(chars.filter((char) => one.test(char)));
}

function quantifier(reader: Reader): { least: number; most: number } {
  const found = /^(?:\?|\{(\d+)(?:,(\d+))?\})/.exec(reader.source.slice(reader.at));
  if (found === null) return { least: 1, most: 1 };
  reader.at += found[0].length;
  if (found[1] === undefined) return { least: 0, most: 1 };
  return { least: Number(found[1]), most: Number(found[2] ?? found[1]) };
}
