/** What may be claimed of a gateway, and how its end is judged. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { describe, test } from 'node:test';
import { health, type HealthFacts, type Proof } from '../../src/restart/health.ts';
import type { Marker } from '../../src/restart/types.ts';
import { endLine, kindOf } from '../../src/supervise/end.ts';
import { memoryKills } from '../../src/supervise/memory-kills.ts';

const marker: Marker = {
  id: '0123456789abcdef',
  namespace: 'life',
  at: '2026-01-02T03:04:05.678Z',
  reason: 'killed_by_signal',
  detail: '',
  cleared: null,
};
const seen = (source: Proof['source'], ...reasons: string[]): Proof => ({
  source,
  ok: reasons.length === 0,
  reasons,
});

describe('health', () => {
  const table: readonly (readonly [string, Partial<HealthFacts>, string, boolean, RegExp])[] = [
    ['a probe from inside makes it clean', { proof: seen('client_namespace') }, 'clean', true, /^$/],
    ['nobody has looked', {}, 'unproven', false, /no probe/],
    ['a probe from the host proves nothing', { proof: seen('host') }, 'unproven', false, /host/],
    ['a registration proves nothing', { proof: seen('static') }, 'unproven', false, /static/],
    [
      'a probe from inside that failed',
      { proof: seen('client_namespace', 'no tools') },
      'unhealthy',
      false,
      /no tools/,
    ],
    ['no gateway', { down: 'it ended', proof: seen('client_namespace') }, 'unhealthy', false, /it ended/],
    [
      'while a marker lives it is not clean, whatever was seen',
      { proof: seen('client_namespace'), markers: [marker] },
      'unproven',
      false,
      /contaminated at 2026.*killed_by_signal/,
    ],
    ['a bare gateway is exempt', { exempt: true }, 'unproven', true, /no probe/],
    [
      'a bare gateway that is contaminated is not',
      { exempt: true, markers: [marker] },
      'unproven',
      false,
      /contaminated/,
    ],
  ];
  for (const [name, facts, status, mutations, reasons] of table)
    void test(name, () => {
      const found = health({ namespace: 'life', down: null, proof: null, markers: [], ...facts });
      assert.deepEqual(
        [
          found.namespace,
          found.status,
          found.clean_claim_allowed,
          found.mutations_allowed,
          found.probe_source,
        ],
        ['life', status, status === 'clean', mutations, facts.proof?.source ?? null],
      );
      assert.match(found.reasons.join('; '), reasons);
    });
});

describe('the end of a gateway', () => {
  const end = { code: null, signal: null, cause: null };
  const no = { asked: false, memoryKills: 0 };
  for (const [name, given, known, kind, line] of [
    ['a signal', { ...end, signal: 'SIGKILL' }, no, 'killed', /killed by SIGKILL/],
    [
      'a signal that it took in order',
      { ...end, code: 0, cause: 'SIGTERM' },
      no,
      'killed',
      /killed by SIGTERM/,
    ],
    ['one that was asked for', { ...end, code: 0, cause: 'SIGTERM' }, { ...no, asked: true }, 'asked', /./],
    [
      'out of memory',
      { ...end, signal: 'SIGKILL' },
      { ...no, memoryKills: 1 },
      'out_of_memory',
      /out of memory/,
    ],
    [
      'another signal while memory ran out',
      { ...end, signal: 'SIGTERM' },
      { ...no, memoryKills: 1 },
      'killed',
      /SIGTERM/,
    ],
    ['an exit code', { ...end, code: 1 }, no, 'crashed', /exit code 1/],
    [
      'the end of its supervisor',
      { ...end, code: 0, cause: 'the supervisor is gone' },
      no,
      'crashed',
      /exit code 0/,
    ],
  ] as const)
    void test(`${name}: ${kind}`, () => {
      assert.equal(kindOf(given, known), kind);
      assert.match(endLine(given, kind), line);
    });
});

describe('kills for want of memory', () => {
  const groups = async () => (await readFile('/proc/self/cgroup', 'utf8')).split('\n');
  for (const [name, file, text] of [
    ['version 2', 'memory.events', 'low 0\noom 3\noom_kill 2\n'],
    ['version 2, of the group alone', 'memory.events.local', 'oom_kill 2\n'],
    ['version 1', 'memory/memory.oom_control', 'oom_kill_disable 0\nunder_oom 0\noom_kill 2\n'],
  ] as const)
    void test(`are counted by ${name}`, async (t) => {
      const version = file.startsWith('memory/') ? /^\d+:[^:]*memory/ : /^0::/;
      if (!(await groups()).some((line) => version.test(line))) return t.skip('not on this machine');
      const root = await mkdtemp(path.join(os.tmpdir(), 'wraptool-cgroup-'));
      t.after(() => rm(root, { recursive: true, force: true }));
      await mkdir(path.dirname(path.join(root, file)), { recursive: true });
      await writeFile(path.join(root, file), text);
      assert.equal(await memoryKills(process.pid, root), 2);
    });

  void test('are not known where nothing tells', async () => {
    assert.equal(await memoryKills(process.pid, '/nowhere'), null);
  });
});
