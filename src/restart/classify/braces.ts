/** Brace expansion of a word's text, as the shell does it before anything else. */

/** Words that one word may become; more are not written out. */
const most = 512;

/** The words that `a{b,c}d` and `{1..9}` stand for, or null where there are too many. */
export function expandBraces(text: string): string[] | null {
  const words: string[] = [];
  const open: string[] = [text];
  for (let word = open.pop(); word !== undefined; word = open.pop()) {
    const choice = firstChoice(word);
    if (choice === null) words.push(word);
    else for (const item of choice.items.toReversed()) open.push(choice.before + item + choice.after);
    if (words.length + open.length > most) return null;
  }
  return words;
}

type Choice = { before: string; items: readonly string[]; after: string };

function firstChoice(word: string): Choice | null {
  for (let at = 0; at < word.length; at += 1) {
    at = skipQuoted(word, at);
    if (word[at] !== '{' || word[at - 1] === '$') continue;
    const group = groupAt(word, at);
    if (group === null) continue;
    const items = group.items.length > 1 ? group.items : sequence(group.items[0] ?? '');
    if (items === null) continue;
    return { before: word.slice(0, at), items, after: word.slice(group.end + 1) };
  }
  return null;
}

/** The place behind a quoted piece or an escape that begins at `at`; `at` itself where none does. */
function skipQuoted(word: string, at: number): number {
  if (word[at] === '\\') return at + 2;
  const quote = word[at];
  if (quote !== "'" && quote !== '"') return at;
  for (let end = at + 1; end < word.length; end += 1) {
    if (quote === '"' && word[end] === '\\') end += 1;
    else if (word[end] === quote) return end + 1;
  }
  return word.length;
}

function groupAt(word: string, start: number): { items: string[]; end: number } | null {
  const items: string[] = [];
  let depth = 0;
  let from = start + 1;
  for (let at = start; at < word.length; at += 1) {
    const past = skipQuoted(word, at);
    if (past > at) {
      at = past - 1;
      continue;
    }
    if (word[at] === '{') depth += 1;
    else if (word[at] === ',' && depth === 1) {
      items.push(word.slice(from, at));
      from = at + 1;
    } else if (word[at] === '}' && --depth === 0) {
      items.push(word.slice(from, at));
      return { items, end: at };
    }
  }
  return null;
}

function sequence(body: string): string[] | null {
  const [, from, to, by] =
    /^(-?\d{1,9}|[A-Za-z])\.\.(-?\d{1,9}|[A-Za-z])(?:\.\.(-?\d{1,9}))?$/.exec(body) ?? [];
  if (from === undefined || to === undefined) return null;
  const letters = /[A-Za-z]/.test(from);
  if (letters !== /[A-Za-z]/.test(to)) return null;
  const low = letters ? from.charCodeAt(0) : Number(from);
  const high = letters ? to.charCodeAt(0) : Number(to);
  const step = Math.max(1, Math.abs(Number(by ?? 1))) * (low <= high ? 1 : -1);
  const count = Math.floor(Math.abs(high - low) / Math.abs(step)) + 1;
  // Too many to write out: the ends, and what lies between stays one unknown word.
  const numbers = Array.from({ length: Math.min(count, most + 1) }, (_none, index) => low + index * step);
  return numbers.map((value) => (letters ? String.fromCharCode(value) : String(value)));
}
