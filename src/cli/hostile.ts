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

/** One line of JSON with each hidden character as `\uXXXX`, which means the same to every reader of JSON. */
export function escapeJson(line: string): string {
  const unit = (code: number): string => `\\u${code.toString(16).padStart(4, '0')}`;
  return line.replace(hidden, (character) =>
    Array.from({ length: character.length }, (_none, at) => unit(character.charCodeAt(at))).join(''),
  );
}

/** argv as a list, each word in quotes, hidden characters escaped: `["git", "push"]`. */
export function renderArgv(argv: readonly string[]): string {
  return `[${argv.map((word) => `"${escapeHostile(word).replaceAll('"', '\\"')}"`).join(', ')}]`;
}
