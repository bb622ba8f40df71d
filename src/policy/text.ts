/** Strings as an agent may send them: what is well formed, what is hidden, how it is shown. */

const maxStringBytes = 32 * 1024;
const maxTotalBytes = 256 * 1024;
const maxStrings = 1024;

// Controls, bidi and other formatting, separators, and letters that are drawn as nothing.
const classes = String.raw`\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u034f\u115f-\u1160\u17b4-\u17b5\u3164\uffa0`;
const hidden = new RegExp(`[${classes}]`, 'u');
const hiddenAll = new RegExp(`[${classes}]`, 'gu');
const hiddenButLayout = new RegExp(String.raw`(?![\t\n])[${classes}]`, 'u');

/** Printable ASCII alone, which nearly every word is: a loop costs less than an expression. */
function isPlain(text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit < 0x20 || unit > 0x7e) return false;
  }
  return true;
}

/** Whether a value has a character that must not be judged as text (tab and newline pass where `multiline`). */
export function hasHidden(text: string, multiline: boolean): boolean {
  return !isPlain(text) && (multiline ? hiddenButLayout : hidden).test(text);
}

/** What is wrong with the form of these strings (Unicode, NUL, sizes), or null. Returns the string too, where it is one. */
export function malformed(argv: readonly string[]): { detail: string; offending: string | null } | null {
  if (argv.length > maxStrings)
    return { detail: `there are ${argv.length} arguments, at most ${maxStrings} are taken`, offending: null };
  let total = 0;
  for (let index = 0; index < argv.length; index++) {
    const text = argv[index] ?? '';
    const plain = isPlain(text);
    const what = plain ? null : badUnicode(text);
    if (what !== null) return { detail: `argument ${index + 1} ${what}`, offending: text };
    const bytes = plain ? text.length : utf8Length(text);
    if (bytes > maxStringBytes)
      return { detail: `argument ${index + 1} is longer than 32 KiB`, offending: null };
    total += bytes;
  }
  return total > maxTotalBytes ? { detail: 'the arguments are longer than 256 KiB', offending: null } : null;
}

function badUnicode(text: string): string | null {
  if (!text.isWellFormed()) return 'is not well-formed Unicode';
  return text.includes('\0') ? 'has a NUL character' : null;
}

function utf8Length(text: string): number {
  let bytes = text.length;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit < 0x80) continue;
    bytes += unit < 0x800 || (unit >= 0xd800 && unit <= 0xdfff) ? 1 : 2;
  }
  return bytes;
}

/** One line for people: hidden characters escaped, at most `limit` characters. */
export function show(text: string, limit = 120): string {
  if (text.length <= limit && isPlain(text)) return text;
  const cut = text.length > limit ? `${text.slice(0, limit).replace(/[\ud800-\udbff]$/, '')}…` : text;
  return cut.toWellFormed().replace(hiddenAll, (character) => {
    if (character === '\n') return '\\n';
    if (character === '\t') return '\\t';
    return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  });
}

/** A command as one line: words that need it in double quotes. */
export function showCommand(words: readonly string[]): string {
  const parts: string[] = [];
  let length = 0;
  for (const word of words) {
    const shown = show(word, 200);
    const part = shown === '' || /[\s"']/.test(shown) ? `"${shown.replaceAll('"', '\\"')}"` : shown;
    length += part.length + 1;
    if (length > 400) return [...parts, '…'].join(' ');
    parts.push(part);
  }
  return parts.join(' ');
}

/** Edit distance with swapped neighbours as one edit, for suggestions only; gives up (Infinity) on long words. */
export function distance(a: string, b: string): number {
  if (a.length > 64 || b.length > 64) return Infinity;
  const rows = [Array.from({ length: b.length + 1 }, (_, index) => index)];
  const cell = (i: number, j: number): number => rows[i]?.[j] ?? Infinity;
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    rows.push(row);
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      const swapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? cell(i - 2, j - 2) + 1 : Infinity;
      row.push(Math.min(cell(i - 1, j - 1) + same, cell(i - 1, j) + 1, cell(i, j - 1) + 1, swapped));
    }
  }
  return cell(a.length, b.length);
}

/** The word that was probably meant, or null: a prefix or a third of the letters wrong at most. */
export function nearest(word: string, candidates: Iterable<string>): string | null {
  let best: string | null = null;
  let score = Infinity;
  for (const candidate of candidates) {
    const length = Math.max(word.length, candidate.length);
    const bare = word.replace(/^-+/, '');
    const starts = bare.length > 1 && candidate.replace(/^-+/, '').startsWith(bare);
    const found = starts ? 0.5 : distance(word, candidate);
    if (found < score && (starts || found <= Math.max(1, Math.floor(length / 3)))) {
      best = candidate;
      score = found;
    }
  }
  return best;
}
