/** The one renderer of whatever an agent wrote: hidden characters are shown, never obeyed. */

// Controls, bidi and zero-width formatting, separators but the space, surrogates, private use and unassigned; letters and
// marks that are drawn as nothing (fillers, variation selectors), and the empty braille cell.
const hidden = /(?! )[\p{Cc}\p{Cf}\p{Z}\p{Co}\p{Cs}\p{Cn}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/** Text with each hidden character as `\u{HEX}` (newline `\n`, tab `\t`), so that it stays on its line. */
export function escapeHostile(text: string): string {
  return text.replace(hidden, (character) => {
    if (character === '\n') return '\\n';
    if (character === '\t') return '\\t';
    return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  });
}

/** One line of JSON with each hidden character as `\uXXXX`, which means the same to every reader of JSON. */
export function escapeJson(line: string): string {
  const unit = (code: number): string => `\\u${code.toString(16).padStart(4, '0')}`;
  return line.replace(hidden, (character) =>
    Array.from({ length: character.length }, (_none, at) => unit(character.charCodeAt(at))).join(''),
  );
}

/** argv as a list, each word in quotes, hidden characters escaped: `["git", "push"]`. No two lists look the same. */
export function renderArgv(argv: readonly string[]): string {
  // The backslash too: a word that only looks like an escape is not one.
  return `[${argv.map((word) => `"${escapeHostile(word.replace(/["\\]/g, '\\$&'))}"`).join(', ')}]`;
}

/** Each word that could be taken for another one, with all that is not ASCII escaped: mixed scripts, variants of letters. */
export function lookAlikes(argv: readonly string[]): string[] {
  const doubtful = argv.filter((word) => {
    const foreign = /(?!\p{Script=Latin})\p{L}/u.test(word);
    return (foreign && /\p{Script=Latin}/u.test(word)) || word.normalize('NFKC') !== word;
  });
  return [...new Set(doubtful)].map((word) =>
    word.replace(/[^ -~]/gu, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`),
  );
}
