/** The classifier against commands with known answers; none of them is ever run. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { classify } from '../../src/restart/classify/classify.ts';
import { redactCommand } from '../../src/restart/classify/redact.ts';

type Case = {
  readonly id: string;
  readonly kind: string;
  readonly command: string;
  readonly process_kill: boolean;
  readonly contamination: boolean;
  readonly reason_class: string | null;
  readonly reason_ok?: readonly (string | null)[];
  readonly process_kill_ok?: readonly boolean[];
  readonly redacted_command?: string;
  readonly redacted_ok?: readonly string[];
  readonly judgement?: boolean;
};

function lines<T>(name: string): T[] {
  const text = readFileSync(new URL(`../corpus/classify/${name}`, import.meta.url), 'utf8');
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as T);
}

const known = { pids: new Set([4242, 31337, 4200]), names: [] };
const cases = lines<Case>('cases.jsonl');

/** What is wrong with the answer; null when nothing is. */
function wrong(one: Case): string | null {
  const got = classify(one.command, known);
  const kill = (one.process_kill_ok ?? [one.process_kill]).includes(got.process_kill);
  const reason = (one.reason_ok ?? [one.reason_class]).includes(got.reason_class);
  const redacted =
    one.redacted_command === undefined ||
    [one.redacted_command, ...(one.redacted_ok ?? [])].includes(got.redacted_command);
  return kill && reason && redacted && got.contamination === one.contamination
    ? null
    : `${one.id} ${one.command}: ${JSON.stringify(got)}`;
}

describe('every firm case is right among', () => {
  for (const kind of new Set(cases.map((one) => one.kind)))
    test(kind, () => {
      const firm = cases.filter((one) => one.kind === kind && one.judgement !== true);
      assert.deepEqual(
        firm.flatMap((one) => wrong(one) ?? []),
        [],
      );
    });
});

test('cases of judgement are counted apart', (t) => {
  const judged = cases.filter((one) => one.judgement === true);
  const off = judged.flatMap((one) => wrong(one) ?? []);
  t.diagnostic(`${judged.length - off.length} of ${judged.length} as the table has them`);
  for (const line of off) t.diagnostic(line);
});

test('more ways to say it, and more mentions', () => {
  type More = {
    readonly command: string;
    readonly process_kill: boolean;
    readonly reason_class: string | null;
  };
  const off = lines<More>('more.jsonl').filter(({ command, process_kill, reason_class }) => {
    const got = classify(command, known);
    const reason = reason_class === '*' ? got.reason_class !== null : got.reason_class === reason_class;
    return got.process_kill !== process_kill || !reason;
  });
  assert.deepEqual(off, []);
});

describe('the answer', () => {
  test('says for a contaminating command what it is, what it leaves and what to do instead', () =>
    assert.deepEqual(classify('TOKEN=abc kill 4242', known), {
      process_kill: true,
      contamination: true,
      sanctioned: false,
      clean_claim_allowed: false,
      reason_class: 'manual_daemon_kill',
      redacted_command: 'TOKEN=[redacted] kill 4242',
      contamination_marker: 'contaminated_runtime',
      sanctioned_alternative: 'wraptool restart NAMESPACE --confirm "restart NAMESPACE"',
    }));
  test('says for a kill of something else that it is a kill', () => {
    const got = classify('kill 999', known);
    assert.deepEqual(
      [got.process_kill, got.contamination, got.sanctioned, got.clean_claim_allowed],
      [true, false, false, true],
    );
    assert.deepEqual([got.contamination_marker, got.sanctioned_alternative], [null, null]);
  });
  test('says for anything else that it is sanctioned', () =>
    assert.equal(classify('git status', known).sanctioned, true));
  test('a session of another name is known by its name', () => {
    const other = { pids: new Set<number>(), names: ['nightly'] };
    assert.equal(classify('pkill -f nightly', other).reason_class, 'pattern_kill');
    assert.equal(classify('pkill -f nightly', known).contamination, false);
  });
  test('without a known pid a pid is nobody’s', () =>
    assert.equal(classify('kill 4242', { pids: new Set(), names: [] }).contamination, false));
  test('what is longer than it is followed counts as a kill where it holds the word', () => {
    assert.equal(classify(`echo ${'x'.repeat(40_000)}`, known).contamination, false);
    assert.equal(classify(`echo ${'x'.repeat(40_000)}; kill 4242`, known).reason_class, 'indirect');
  });
});

describe('redaction', () => {
  const table: readonly (readonly [string, string])[] = [
    ['curl -H "Authorization: Bearer abcdef123456" x', 'curl -H "Authorization: Bearer [redacted]" x'],
    ["curl -H 'Authorization: token abcdefghij' x", "curl -H 'Authorization: token [redacted]' x"],
    ["curl -H 'X-Api-Key: abcdefghij' x", "curl -H 'X-Api-Key: [redacted]' x"],
    ['TOKEN=$GH_TOKEN kill 1', 'TOKEN=$GH_TOKEN kill 1'],
    ['TOKEN="$(cat f)" kill 1', 'TOKEN="$(cat f)" kill 1'],
    ['TOKENIZER=fast KEYBOARD=us ls', 'TOKENIZER=fast KEYBOARD=us ls'],
    ['PWD=/tmp SSH_AUTH_SOCK=/tmp/x ls', 'PWD=/tmp SSH_AUTH_SOCK=/tmp/x ls'],
    ['tool --token abc123 --api-key=zzz run', 'tool --token [redacted] --api-key=[redacted] run'],
    ['docker login --password-stdin reg.io', 'docker login --password-stdin reg.io'],
    ['psql postgres://u:pw12345@h/db', 'psql postgres://u:[redacted]@h/db'],
    ['sh -c "TOKEN=\\"abc\\" kill 1"', 'sh -c "TOKEN=[redacted] kill 1"'],
    ['docker exec -u 1000:1000 x ls', 'docker exec -u 1000:1000 x ls'],
    ['curl -u bob:hunter2 x', 'curl -u bob:[redacted] x'],
    ['git commit -m "fix token: see docs"', 'git commit -m "fix token: see docs"'],
    ['X_SECRET=a"b c"d ls', 'X_SECRET=[redacted] ls'],
    ['A=1 TOKEN=x|cat', 'A=1 TOKEN=[redacted]|cat'],
  ];
  for (const [command, shown] of table) test(command, () => assert.equal(redactCommand(command), shown));
});
