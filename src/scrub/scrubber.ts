/** Text in, the same text with each secret replaced by `[redacted:NAME]` out. */
import { glued, hasEscapes, split, type View } from './escapes.ts';
import { formsOf, shortestLiteral, type Form, type Literal } from './literals.ts';
import { keyBlocks } from './pem.ts';
import { attemptPlace, places } from './places.ts';
import { attemptShape, shapes } from './shapes.ts';
import type { Span } from './span.ts';
import { startsOf } from './starts.ts';
import { createStream, type ScrubStream } from './stream.ts';
import { findAll, makeTriggers, type Attempt, type Triggers } from './triggers.ts';
import { compileUserPattern, type UserPattern } from './user-pattern.ts';

export type { Literal, UserPattern, ScrubStream };

export type Scrubber = {
  scrub(text: string): string;
  /** One per output stream: what is pushed comes out whole lines at a time, `end` gives the rest. */
  stream(): ScrubStream;
  /** Names of the literals that are too short to be looked for (under six characters). */
  readonly tooShort: readonly string[];
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
  const triggers = makeTriggers(
    forms.map((form) => ({ start: form.text, anyCase: false, attempt: attemptForm(form) })),
    known,
  );
  const preferred = new Set(forms.map(({ name }) => name));
  const findPatterns = patterns.map((pattern) => userFinder(pattern));
  const find = (text: string, from: number): Span[] => [
    ...findAll(triggers, text, from),
    ...findPatterns.flatMap((finder) => finder(text, from)),
    ...keyBlocks(text, from),
  ];
  const inView = (view: View, from: number): Span[] =>
    find(view.text, view.toText(from)).map((span) => ({
      name: span.name,
      from: view.toRaw(span.from),
      start: view.toRaw(span.start),
      // Behind its last character, not behind the escapes that follow it.
      end: span.end > span.start ? view.toRaw(span.end - 1) + 1 : view.toRaw(span.start),
    }));
  const lines = multiLine(forms);
  return {
    spans(raw, from) {
      if (!hasEscapes(raw)) return merge(find(raw, from), preferred);
      return merge([...inView(glued(raw), from), ...inView(split(raw), from)], preferred);
    },
    openFrom(raw) {
      if (!hasEscapes(raw)) return openIn(raw, lines);
      return Math.min(...[glued(raw), split(raw)].map((view) => view.toRaw(openIn(view.text, lines))));
    },
  };
}

/** What is looked for whatever is configured; made once. */
const known: Triggers = makeTriggers([
  ...shapes.flatMap((shape) => {
    const attempt = attemptShape(shape);
    return startsOf(shape.head, shape.body).map((start) => ({ start, anyCase: false, attempt }));
  }),
  ...places.flatMap((place) => {
    const attempt = attemptPlace(place);
    return place.triggers.map((start) => ({ start, anyCase: true, attempt }));
  }),
]);

function attemptForm({ name, text: form, base64 }: Form): Attempt {
  return (text, at) => {
    if (!text.startsWith(form, at)) return null;
    const span = { name, from: at, start: at, end: at + form.length };
    return base64 ? wholeWord(text, span) : span;
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

/** Sorted, overlapping ones made one. Its name is a configured value's, else the one of what is inside. */
function merge(spans: readonly Span[], preferred: ReadonlySet<string>): Span[] {
  const sorted = spans
    .filter(({ start, end }) => end > start)
    .toSorted((a, b) => a.start - b.start || b.end - a.end);
  const merged: { name: string; from: number; start: number; end: number }[] = [];
  for (const span of sorted) {
    const last = merged.at(-1);
    if (last === undefined || span.start >= last.end) {
      merged.push({ ...span });
      continue;
    }
    if (!preferred.has(last.name) && (preferred.has(span.name) || placeNames.has(last.name)))
      last.name = span.name;
    last.end = Math.max(last.end, span.end);
    last.from = Math.min(last.from, span.from);
  }
  return merged;
}

const placeNames: ReadonlySet<string> = new Set(places.map(({ name }) => name));

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
