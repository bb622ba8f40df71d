/** Text in, the same text with each secret replaced by `[redacted:NAME]` out. */
import { glued, hasEscapes, split, type View } from './escapes.ts';
import { keyedMatches } from './keyed.ts';
import { formsOf, shortestLiteral, type Form, type Literal } from './literals.ts';
import { keyBlocks } from './pem.ts';
import { shapes, shapeSource } from './shapes.ts';
import { createStream, type ScrubStream } from './stream.ts';
import { compileUserPattern, type UserPattern } from './user-pattern.ts';

export type { Literal, UserPattern, ScrubStream };

export type Scrubber = {
  scrub(text: string): string;
  /** One per output stream: what is pushed comes out whole lines at a time, `end` gives the rest. */
  stream(): ScrubStream;
  /** Names of the literals that are too short to be looked for (under six characters). */
  readonly tooShort: readonly string[];
};

/** A secret in a text: `from` is where the context that showed it begins (never after `start`). */
export type Span = {
  readonly name: string;
  readonly from: number;
  readonly start: number;
  readonly end: number;
};

/** What the stream needs: the spans of a text from `from` on, and where more text could still change the answer. */
export type Finder = {
  spans(raw: string, from: number): Span[];
  /** Where in whole lines a secret over several lines may have begun that is not complete; raw.length when none. */
  openFrom(raw: string): number;
};

/** Characters that a base64 word is followed on each side of a configured value in it. */
const wordReach = 256;

/**
 * @throws WraptoolError config_invalid for a user pattern that could take too long.
 */
export function createScrubber(options: {
  literals: readonly Literal[];
  patterns: readonly UserPattern[];
}): Scrubber {
  const usable = options.literals.filter(({ value }) => value.trim().length >= shortestLiteral);
  const finder = createFinder(usable.flatMap(formsOf), options.patterns);
  const stream = () => createStream(finder);
  return {
    stream,
    scrub(text) {
      const whole = stream();
      return whole.push(text) + whole.end();
    },
    tooShort: options.literals.filter((literal) => !usable.includes(literal)).map(({ name }) => name),
  };
}

function createFinder(forms: readonly Form[], patterns: readonly UserPattern[]): Finder {
  const findLiterals = literalFinder(forms);
  const findPatterns = patterns.map((pattern) => userFinder(pattern));
  const find = (text: string, from: number): Span[] => [
    ...findLiterals(text, from),
    ...findPatterns.flatMap((finder) => finder(text, from)),
    ...shapeSpans(text, from),
    ...keyedMatches(text, from),
    ...keyBlocks(text, from),
  ];
  const inView = ({ text, places }: View, from: number): Span[] => {
    if (places === null) return find(text, from);
    const place = (at: number) => places[at]!;
    // An end is put behind its last character, not behind the escapes that follow it.
    return find(text, lowerBound(places, from)).map((span) => ({
      name: span.name,
      from: place(span.from),
      start: place(span.start),
      end: span.end > span.start ? place(span.end - 1) + 1 : place(span.start),
    }));
  };
  const lines = multiLine(forms);
  return {
    spans(raw, from) {
      if (!hasEscapes(raw)) return merge(find(raw, from));
      return merge([...inView(glued(raw), from), ...inView(split(raw), from)]);
    },
    openFrom(raw) {
      if (!hasEscapes(raw)) return openIn(raw, lines);
      return Math.min(...[glued(raw), split(raw)].map(({ text, places }) => places![openIn(text, lines)]!));
    },
  };
}

const shapeExpression = new RegExp(shapes.map((shape) => `(${shapeSource(shape)})`).join('|'), 'g');

function shapeSpans(text: string, from: number): Span[] {
  const found: Span[] = [];
  shapeExpression.lastIndex = from;
  for (let match = shapeExpression.exec(text); match !== null; match = shapeExpression.exec(text)) {
    const shape = shapes[match.findIndex((value, at) => at > 0 && value !== undefined) - 1]!;
    const start = match.index - (shape.lead?.count ?? 0);
    found.push({ name: shape.name, from: start, start, end: match.index + match[0].length });
  }
  return found;
}

function literalFinder(forms: readonly Form[]): (text: string, from: number) => Span[] {
  if (forms.length === 0) return () => [];
  const byText = new Map(forms.toReversed().map((form) => [form.text, form]));
  const longestFirst = [...byText.keys()].toSorted((a, b) => b.length - a.length);
  const expression = new RegExp(
    longestFirst.map((text) => text.replace(/[\\^$.*+?()[\]{}|\/-]/g, String.raw`\$&`)).join('|'),
    'g',
  );
  return (text, from) => {
    const found: Span[] = [];
    expression.lastIndex = from;
    for (let match = expression.exec(text); match !== null; match = expression.exec(text)) {
      const form = byText.get(match[0])!;
      const end = match.index + match[0].length;
      const span = { name: form.name, from: match.index, start: match.index, end };
      found.push(form.base64 ? wholeWord(text, span) : span);
      // The next may begin inside this one: the union is redacted.
      expression.lastIndex = match.index + 1;
    }
    return found;
  };
}

function wholeWord(text: string, span: Span): Span {
  const before = /[A-Za-z0-9+/_-]*$/.exec(text.slice(Math.max(0, span.start - wordReach), span.start))![0]
    .length;
  const after = /^[A-Za-z0-9+/_-]*={0,2}/.exec(text.slice(span.end, span.end + wordReach))![0].length;
  return { name: span.name, from: span.start - before, start: span.start - before, end: span.end + after };
}

function userFinder(pattern: UserPattern): (text: string, from: number) => Span[] {
  const expression = compileUserPattern(pattern);
  return (text, from) => {
    const found: Span[] = [];
    // Line by line: what a pattern finds may not depend on how much text there is yet.
    let at = from;
    while (at < text.length) {
      const lineStart = text.lastIndexOf('\n', at - 1) + 1;
      const newline = text.indexOf('\n', at);
      const lineEnd = newline === -1 ? text.length : newline;
      const line = text.slice(lineStart, lineEnd);
      expression.lastIndex = at - lineStart;
      for (let match = expression.exec(line); match !== null; match = expression.exec(line)) {
        const start = lineStart + match.index;
        if (match[0] === '') expression.lastIndex += 1;
        else found.push({ name: pattern.name, from: start, start, end: start + match[0].length });
      }
      at = lineEnd + 1;
    }
    return found;
  };
}

/** Sorted, overlapping ones made one; the first finder's name wins (configured values come first). */
function merge(spans: readonly Span[]): Span[] {
  const sorted = spans
    .filter(({ start, end }) => end > start)
    .map((span, rank) => ({ span, rank }))
    .toSorted((a, b) => a.span.start - b.span.start);
  const merged: { name: string; rank: number; from: number; start: number; end: number }[] = [];
  for (const { span, rank } of sorted) {
    const last = merged.at(-1);
    if (last === undefined || span.start >= last.end) {
      merged.push({ ...span, rank });
      continue;
    }
    if (rank < last.rank) {
      last.name = span.name;
      last.rank = rank;
    }
    last.end = Math.max(last.end, span.end);
    last.from = Math.min(last.from, span.from);
  }
  return merged.map(({ name, from, start, end }) => ({ name, from, start, end }));
}

type MultiLine = { readonly first: string; readonly text: string };

function multiLine(forms: readonly Form[]): MultiLine[] {
  return forms
    .filter(({ text }) => text.includes('\n'))
    .map(({ text }) => ({ text, first: text.slice(0, text.indexOf('\n') + 1) }));
}

function openIn(text: string, literals: readonly MultiLine[]): number {
  let open = text.length;
  for (const block of keyBlocks(text, 0)) if (block.open) open = Math.min(open, block.from);
  for (const literal of literals) {
    let at = text.indexOf(literal.first, Math.max(0, text.length - literal.text.length));
    while (at !== -1 && !literal.text.startsWith(text.slice(at))) at = text.indexOf(literal.first, at + 1);
    if (at !== -1) open = Math.min(open, at);
  }
  return open;
}

function lowerBound(places: Uint32Array, at: number): number {
  let low = 0;
  let high = places.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (places[middle]! < at) low = middle + 1;
    else high = middle;
  }
  return low;
}
