/** How text of others is shown: the same rules as on the command line. Hidden characters are shown, never obeyed. */

/** Nearly all text: nothing in it is hidden. */
const plain = /^[ -~]*$/;
const hidden = /(?! )[\p{Cc}\p{Cf}\p{Z}\p{Co}\p{Cs}\p{Cn}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/** Text with each hidden character as `\u{HEX}` (newline `\n`, tab `\t`). */
export function escapeHostile(text) {
  const whole = String(text);
  if (plain.test(whole)) return whole;
  return whole.replace(hidden, (character) => {
    if (character === '\n') return '\\n';
    if (character === '\t') return '\\t';
    return `\\u{${character.codePointAt(0).toString(16)}}`;
  });
}

/** As escapeHostile, but what has lines keeps them. */
export function escapeLines(text) {
  return String(text)
    .split('\n')
    .map((line) =>
      line.includes('\t') ? line.split('\t').map(escapeHostile).join('\t') : escapeHostile(line),
    )
    .join('\n');
}

/** argv as a list, each word in quotes: `["git", "push"]`. No two lists look the same. */
export function renderArgv(argv) {
  return `[${argv.map((word) => `"${escapeHostile(word.replace(/["\\]/g, '\\$&'))}"`).join(', ')}]`;
}

/** Each word that could be taken for another one, with all that is not ASCII escaped. */
export function lookAlikes(argv) {
  const doubtful = argv.filter((word) => {
    const foreign = /(?!\p{Script=Latin})\p{L}/u.test(word);
    return (foreign && /\p{Script=Latin}/u.test(word)) || word.normalize('NFKC') !== word;
  });
  return [...new Set(doubtful)].map((word) =>
    word.replace(/[^ -~]/gu, (character) => `\\u{${character.codePointAt(0).toString(16)}}`),
  );
}

/** `3 min ago`, for people; the exact time is in the title. */
export function ago(time, now = Date.now()) {
  const seconds = Math.max(0, Math.round((now - Date.parse(time)) / 1000));
  if (seconds < 90) return `${seconds} s ago`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min ago`;
  if (seconds < 129600) return `${Math.round(seconds / 3600)} h ago`;
  return `${Math.round(seconds / 86400)} d ago`;
}

/** The longest text that is put on a page at once. */
const most = 20_000;

/** What is cut is said. */
export function cut(text, longest = most) {
  const whole = String(text);
  return whole.length <= longest
    ? whole
    : `${whole.slice(0, longest)}… (${whole.length - longest} more characters)`;
}
