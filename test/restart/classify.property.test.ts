/** Whatever the classifier is given: it never throws, always answers in the same form, and in bounded time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { classify } from '../../src/restart/classify/classify.ts';

const known = { pids: new Set([4242]), names: ['claude-app'] };

const piece = fc.constantFrom(
  ...[
    'kill',
    ' ',
    '4242',
    '$(',
    ')',
    '`',
    '"',
    "'",
    '|',
    ';',
    '&&',
    '\n',
    '{',
    '}',
    '$x',
    '${',
    '}',
    '$((',
    '))',
    '<<E',
    'E\n',
  ],
  ...[
    'if ',
    'then ',
    'fi',
    'for a in ',
    'do ',
    'done',
    'case x in ',
    'esac',
    'pkill -f ',
    'wraptool',
    'xargs ',
    'sh -c ',
    'eval ',
  ],
  ...[
    'base64 -d',
    'awk ',
    'python3 -c ',
    'docker ',
    'stop ',
    '\\',
    '#',
    '*',
    '[',
    ']',
    '\ue000',
    '\u202e',
    '\0',
    '“',
    '<(',
    '>',
    'x=',
  ],
);

test('it never throws, and null reasons go with no contamination', () =>
  fc.assert(
    fc.property(
      fc.oneof(
        fc.array(piece, { maxLength: 60 }).map((all) => all.join('')),
        fc.string({ unit: 'binary' }),
      ),
      (command) => {
        const got = classify(command, known);
        assert.equal(got.contamination, got.reason_class !== null);
        assert.equal(got.sanctioned, !got.process_kill && !got.contamination);
        assert.ok(!got.contamination || got.process_kill);
      },
    ),
    { numRuns: 1500 },
  ));

test('a plain kill of a gateway counts whatever stands in front of it as a command of its own', () =>
  fc.assert(
    fc.property(fc.stringMatching(/^[a-z][a-z0-9 ./_-]{0,40}$/), (front) => {
      // Some words open a construct that the rest does not close; a shell would refuse that.
      fc.pre(
        !/\b(?:if|then|else|elif|fi|do|done|case|esac|while|until|for|select|function|in|time|coproc)\b/.test(
          front,
        ),
      );
      assert.equal(classify(`${front}; kill 4242`, known).contamination, true);
      assert.equal(classify(`kill 4242; ${front}`, known).contamination, true);
    }),
    { numRuns: 300 },
  ));

const size = 16_000;
const long = (unit: string): string => unit.repeat(Math.floor(size / unit.length));
const hostile: Readonly<Record<string, string>> = {
  'open parentheses': long('('),
  'open substitutions': long('$('),
  'open quotes and substitutions': long('"$('),
  'open expansions': long('${a:-'),
  'open arithmetic': long('$(('),
  'here-documents': long('<<A '),
  'braces in braces': long('{a,'),
  'sequences multiplied': `echo ${'{1..99}'.repeat(40)}`,
  'a variable that doubles': `x=aaaa;${long('x=$x$x;')}`,
  'a fork bomb': ':(){ :|:& };:',
  'functions that call twice': `${Array.from({ length: 300 }, (_none, n) => `f${n}() { f${n + 1}; f${n + 1}; }`).join(';')};f0`,
  'loops in loops':
    'for a in {1..200}; do for b in {1..200}; do for c in {1..200}; do kill $c; done; done; done',
  'a pattern that backtracks': `pkill -f '${'(a+)+'.repeat(90)}$'`,
  'many patterns': Array.from({ length: 600 }, (_none, n) => `pkill -f 'a${n}.*b+c'`).join(';'),
  'shells in shells': `sh -c '${long('sh -c "')}'`,
  'awk in awk': `awk 'BEGIN{${'system('.repeat(580)}'`,
  'a sed that backtracks': `echo a | sed 's/${long('a*')}/b/'`,
  'secrets without an end': long('A_TOKEN="'),
  'wrappers in wrappers': long('sudo '),
};

test('hostile commands of its greatest size are answered within seconds', (t) => {
  let slowest = { title: '', ms: 0 };
  for (const [title, command] of Object.entries(hostile)) {
    const start = performance.now();
    classify(command, known);
    const ms = performance.now() - start;
    if (ms > slowest.ms) slowest = { title, ms };
  }
  t.diagnostic(`slowest: ${slowest.title}, ${Math.round(slowest.ms)} ms`);
  // Some 700 ms on a free machine; what grew without bound would take minutes.
  assert.ok(slowest.ms < 15_000, `${slowest.title} took ${Math.round(slowest.ms)} ms`);
});
