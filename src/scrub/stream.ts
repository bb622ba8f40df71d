/** Holds back what more text could still turn into a secret, and nothing else. */
import type { Finder } from './scrubber.ts';
import type { Span } from './span.ts';

export type ScrubStream = { push(chunk: string): string; end(): string };

/** Longest single-line match with its context; a line is never decided nearer than this to its unknown rest. */
const reach = 16 * 1024;
/** A line is looked at before its end only when it is this long. */
const longLine = 4 * reach;
/** A secret over several lines is waited for this long. */
const longestWait = 256 * 1024;
/** What lookbehinds and the words of base64 may look back to. */
const context = 1024;

export function createStream(finder: Finder): ScrubStream {
  let held = '';
  /** Everything before this place in `held` is out already and is only context. */
  let done = 0;

  const release = (upTo: number, spans: readonly Span[]): string => {
    // Added up, not joined: what takes the text copies it anyway.
    let out = '';
    let at = done;
    for (const { name, start, end } of spans) {
      if (start >= upTo) break;
      out += `${held.slice(at, start)}[redacted:${name}]`;
      at = end;
    }
    out += held.slice(at, Math.max(at, upTo));
    const next = Math.max(at, upTo);
    const keep = Math.max(0, next - context);
    held = held.slice(keep);
    done = next - keep;
    return out;
  };

  const wholeLines = (): string => {
    const newline = lastLineEnd(held);
    if (newline < done) return '';
    const lines = held.slice(0, newline + 1);
    let open = finder.openFrom(lines);
    if (held.length - open > longestWait) open = lines.length;
    if (open <= done) return '';
    const spans = finder.spans(lines, done);
    const cut = between(open, spans);
    return cut <= done ? '' : release(cut, spans);
  };

  const longestLine = (): string => {
    if (held.length - done < longLine) return '';
    const spans = finder.spans(held, done);
    const cut = between(held.length - reach, spans);
    return cut <= done ? '' : release(cut, spans);
  };

  return {
    push(chunk) {
      held += chunk;
      const lines = chunk.includes('\n') ? wholeLines() : '';
      return lines + longestLine();
    },
    end() {
      return release(held.length, finder.spans(held, done));
    },
  };
}

/** The last place up to `cut` that no match lies across. */
function between(cut: number, spans: readonly Span[]): number {
  return spans.reduceRight((at, { from, end }) => (from < at && end > at ? from : at), cut);
}

/** The last newline that ends a line: one behind a backslash continues it. */
function lastLineEnd(text: string): number {
  let at = text.lastIndexOf('\n');
  while (at > 0 && /\\\r?$/.test(text.slice(Math.max(0, at - 2), at))) at = text.lastIndexOf('\n', at - 1);
  return at;
}
