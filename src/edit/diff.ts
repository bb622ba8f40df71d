/** A unified diff from a list of changes: exactly the lines that they touch, with three lines of context. */
import type { Change } from './types.ts';

type Hunk = { readonly from: number; readonly to: number; readonly newFrom: number; readonly newTo: number };

const context = 3;

export function unifiedDiff(before: string, after: string, changes: readonly Change[]): string {
  const old = linesOf(before);
  const fresh = linesOf(after);
  const hunks = touched(before, after, changes).map((hunk) => trimmed(hunk, old, fresh));
  return grouped(hunks)
    .map((group) => printed(group, old, fresh))
    .join('');
}

function linesOf(text: string): string[] {
  return text === '' ? [] : text.split(/(?<=\n)/);
}

/** Line ranges [from, to) that hold a change, before and after; neighbours that share a line are one. */
function touched(before: string, after: string, changes: readonly Change[]): Hunk[] {
  const found: Hunk[] = [];
  let shift = 0;
  for (const { at, remove, insert } of changes) {
    const from = lineAt(before, at);
    const to = lineAt(before, at + remove.length) + 1;
    const newFrom = lineAt(after, at + shift);
    const newTo = lineAt(after, at + shift + insert.length) + 1;
    shift += insert.length - remove.length;
    const last = found.at(-1);
    if (last !== undefined && from < last.to) found.splice(-1, 1, { ...last, to, newTo });
    else found.push({ from, to, newFrom, newTo });
  }
  return found;
}

function lineAt(text: string, offset: number): number {
  let line = 0;
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) line += 1;
  return line;
}

/** Without the lines at its ends that are the same on both sides. */
function trimmed({ from, to, newFrom, newTo }: Hunk, old: readonly string[], fresh: readonly string[]): Hunk {
  let [a, b, c, d] = [from, Math.min(to, old.length), newFrom, Math.min(newTo, fresh.length)];
  while (a < b && c < d && old[a] === fresh[c]) [a, c] = [a + 1, c + 1];
  while (b > a && d > c && old[b - 1] === fresh[d - 1]) [b, d] = [b - 1, d - 1];
  return { from: a, to: b, newFrom: c, newTo: d };
}

function grouped(hunks: readonly Hunk[]): Hunk[][] {
  const groups: Hunk[][] = [];
  for (const hunk of hunks) {
    const group = groups.at(-1);
    const last = group?.at(-1);
    if (group !== undefined && last !== undefined && hunk.from - last.to <= 2 * context) group.push(hunk);
    else groups.push([hunk]);
  }
  return groups;
}

function printed(group: readonly Hunk[], old: readonly string[], fresh: readonly string[]): string {
  const first = group[0] as Hunk;
  const last = group.at(-1) as Hunk;
  const lead = Math.min(context, first.from);
  const end = Math.min(old.length, last.to + context);
  const rows: string[] = [];
  let at = first.from - lead;
  for (const hunk of group) {
    rows.push(...old.slice(at, hunk.from).map((line) => row(' ', line)));
    rows.push(...old.slice(hunk.from, hunk.to).map((line) => row('-', line)));
    rows.push(...fresh.slice(hunk.newFrom, hunk.newTo).map((line) => row('+', line)));
    at = hunk.to;
  }
  rows.push(...old.slice(at, end).map((line) => row(' ', line)));
  const newEnd = last.newTo + end - last.to;
  return `@@ -${span(first.from - lead, end)} +${span(first.newFrom - lead, newEnd)} @@\n${rows.join('')}`;
}

function span(from: number, to: number): string {
  return `${to === from ? from : from + 1},${to - from}`;
}

function row(sign: string, line: string): string {
  return line.endsWith('\n') ? sign + line : `${sign}${line}\n\\ No newline at end of file\n`;
}
