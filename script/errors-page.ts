/** Prints docs/errors.md from the closed list in src/errors.ts. */
import { errorCodes } from '../src/errors.ts';

const rows = Object.entries(errorCodes).map(
  ([code, { exit, summary, mend }]) => `| \`${code}\` | ${exit} | ${summary} | ${mend} |`,
);
process.stdout.write(
  [
    '# Errors',
    '',
    'Every error names what went wrong and where, and carries a hint. With `--json` it is',
    '`{error: {code, message, hint}}` on stdout. This page is generated from `src/errors.ts`.',
    '',
    'Exit codes: 0 fine; 1 failed; 2 usage or config; 3 denied or refused. `up` and `exec` end with the harness’s own code,',
    '128+n for a signal, and 125 for any other failure before the harness ran.',
    '',
    '| code | exit | what | what to do |',
    '| ---- | ---- | ---- | ---------- |',
    ...rows,
    '',
  ].join('\n'),
);
