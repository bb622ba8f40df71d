/** The one renderer of whatever an agent wrote: hidden characters are shown, never obeyed. */

// Controls, bidi and zero-width formatting, line separators, surrogates, private use and unassigned.
const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}\p{Cn}]/gu;

/** Text with each hidden character as `\u{HEX}` (newline `\n`, tab `\t`), so that it stays on its line. */
export function escapeHostile(text: string): string {
  return text.replace(hidden, (character) => {
    if (character === '\n') return '\\n';
    if (character === '\t') return '\\t';
    return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  });
}

/** argv as a list, each word in quotes, hidden characters escaped: `["git", "push"]`. */
export function renderArgv(argv: readonly string[]): string {
  return `[${argv.map((word) => `"${escapeHostile(word).replaceAll('"', '\\"')}"`).join(', ')}]`;
}
