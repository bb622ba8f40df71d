/** What happened to refs, in the words of git's own fetch and push. */
import { shortName } from './refs.ts';

export type Update = {
  readonly flag: ' ' | '+' | '-' | '*' | '!' | '=' | 't';
  readonly summary: string;
  readonly from: string;
  readonly to: string;
  readonly reason?: string | undefined;
};

/** Lines of a fetch (names padded, as there) or a push. */
export function updateLines(updates: readonly Update[], padded: boolean): string {
  const summaryWidth = Math.max(17, ...updates.map(({ summary }) => summary.length));
  const fromWidth = padded ? Math.max(10, ...updates.map(({ from }) => from.length)) : 0;
  return updates
    .map(({ flag, summary, from, to, reason }) => {
      const note = reason === undefined || reason === '' ? '' : padded ? `  (${reason})` : ` (${reason})`;
      return ` ${flag} ${summary.padEnd(summaryWidth)} ${from.padEnd(fromWidth)} -> ${to}${note}\n`;
    })
    .join('');
}

export function abbreviate(id: string): string {
  return id.slice(0, 7);
}

/** `Branch` lines of `git push --porcelain`: flag, from:to, summary (reason). */
export function readPorcelain(
  text: string,
): { flag: string; from: string; to: string; summary: string; reason: string }[] {
  const lines: { flag: string; from: string; to: string; summary: string; reason: string }[] = [];
  for (const line of text.split('\n')) {
    const match = /^([ +\-*!=])\t([^\t:]*):([^\t]*)\t(.*?)(?: \((.*)\))?$/.exec(line);
    if (match === null) continue;
    const [, flag, from, to, summary, reason] = match;
    lines.push({ flag: flag!, from: from!, to: to!, summary: summary!, reason: reason ?? '' });
  }
  return lines;
}

export function shown(name: string): string {
  return name === '' ? '(none)' : shortName(name);
}
