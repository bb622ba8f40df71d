/** Deciding, whatever else happens meanwhile: the file is the old one or the new one, and the log tells which. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { verifyLog } from '../../src/log/read.ts';
import type { Approval } from '../../src/requests/desk.ts';
import { failure, faultyDisk } from '../edit/faulty-disk.ts';
import { command } from './support.ts';
import { apply, bench, config, deskOf, put, type Bench, type Wish } from './desk-support.ts';
import { main } from '../support/main.ts';

const child = fileURLToPath(new URL('approve-child.ts', import.meta.url));
const read = (at: Bench) => fs.readFileSync(at.config, 'utf8');
const codeOf = (error: unknown): unknown => (error as { code?: unknown }).code;

void describe('approvals at once', () => {
  test('of different requests, by different processes: nothing is lost', async (t) => {
    const at = bench(t);
    const ids = Array.from({ length: 6 }, (_, number) => `req_0000000${number}`);
    await put(at, ...ids.map((id, number) => ({ id, flags: [`--flag-${number}`] })));
    const done = await Promise.all(
      ids.map((id) => command(at, ['requests', 'approve', id, '--apply', '--yes'])),
    );
    assert.deepEqual(
      done.map(({ code }) => code),
      ids.map(() => 0),
      done[0]?.stderr,
    );
    const after = read(at);
    for (const [number] of ids.entries()) assert.ok(after.includes(`--flag-${number}`));
    // But for the added flags the file is the old one, byte for byte.
    assert.equal(after.replaceAll(/, --flag-\d/g, ''), config(at.dir));
    const { requests } = await deskOf(at).ledger();
    assert.ok(ids.every((id) => requests.get(id)?.status === 'approved'));
    assert.deepEqual(
      (await verifyLog(at.log)).flatMap(({ problems }) => problems),
      [],
    );
  });

  test('of the same request: one is made, the others are told', async (t) => {
    const at = bench(t);
    await put(at, { id: 'req_00000001' });
    const outcomes = await Promise.allSettled([
      deskOf(at).approve('req_00000001', apply({ scope: 'once' })),
      deskOf(at).approve('req_00000001', apply()),
      deskOf(at).deny('req_00000001', 'no'),
    ]);
    const failed = outcomes.flatMap((outcome) =>
      outcome.status === 'rejected' ? [codeOf(outcome.reason)] : [],
    );
    assert.deepEqual(failed, ['request_decided', 'request_decided']);
    const { requests, grants } = await deskOf(at).ledger();
    const decision = requests.get('req_00000001')?.decision;
    assert.equal(grants.size, decision?.scope === 'once' ? 1 : 0);
    assert.equal(read(at) === config(at.dir), decision?.scope !== 'apply');
  });
});

test('an editor that saves meanwhile loses nothing: the rule goes into what it saved', async (t) => {
  const at = bench(t);
  await put(at, { id: 'req_00000001' });
  let saved = false;
  const disk = faultyDisk((call) => {
    if (saved || call !== 'handle.sync') return;
    saved = true;
    // As an editor does it: another file, put in place.
    fs.writeFileSync(`${at.config}~`, `${config(at.dir)}# saved by an editor\n`, { mode: 0o640 });
    fs.renameSync(`${at.config}~`, at.config);
  });
  const approval = await deskOf(at, disk).approve('req_00000001', apply());
  assert.equal(approval.verdict, 'allow');
  assert.match(read(at), /--set-upstream, --force\][^]*# saved by an editor\n$/);
  assert.equal((await deskOf(at).request('req_00000001')).status, 'approved');
});

test('with what was shown, an editor that saves meanwhile makes it request_stale', async (t) => {
  const at = bench(t);
  await put(at, { id: 'req_00000001' });
  const desk = deskOf(at);
  const { digest } = await desk.review(await desk.request('req_00000001'), false);
  let saved = false;
  const disk = faultyDisk((call) => {
    if (saved || call !== 'handle.sync') return;
    saved = true;
    fs.appendFileSync(at.config, '# saved\n');
  });
  await assert.rejects(deskOf(at, disk).approve('req_00000001', { ...apply(), shown: digest }), {
    code: 'request_stale',
  });
  assert.equal(read(at), `${config(at.dir)}# saved\n`);
  assert.equal((await desk.request('req_00000001')).status, 'pending');
});

void describe('leaves the file as it was, and the request pending:', () => {
  for (const [sentence, call, code] of [
    ['a full disk', 'handle.writeFile', 'ENOSPC'],
    ['a quota that is used up at the sync', 'handle.sync', 'EDQUOT'],
    ['a file system that is mounted read-only', 'open', 'EROFS'],
    ['a rename that is refused', 'rename', 'EACCES'],
  ] as const)
    test(sentence, async (t) => {
      const at = bench(t);
      await put(at, { id: 'req_00000001' });
      let opened = 0;
      const fail = failure(code);
      const disk = faultyDisk((name, [file]) => {
        // The claims beside the files are made as ever.
        if (name === 'open' && (String(file).endsWith('.lock') || (opened += 1) < 1)) return;
        if (name === call) fail();
      });
      await assert.rejects(deskOf(at, disk).approve('req_00000001', apply()), { code: 'edit_failed' });
      assert.equal(read(at), config(at.dir));
      assert.equal((await deskOf(at).request('req_00000001')).status, 'pending');
      assert.equal((await deskOf(at).approve('req_00000001', apply())).changed, true);
    });

  test('a file without write permission', async (t) => {
    const at = bench(t);
    await put(at, { id: 'req_00000001' });
    fs.chmodSync(at.config, 0o440);
    const done = await command(at, ['requests', 'approve', 'req_00000001', '--apply', '--json']);
    assert.deepEqual([done.code, JSON.parse(done.stdout).error.code], [1, 'edit_failed']);
    assert.equal(read(at), config(at.dir));
    assert.equal((await deskOf(at).request('req_00000001')).status, 'pending');
  });

  test('a log that cannot be written', async (t) => {
    const at = bench(t);
    await put(at, { id: 'req_00000001' });
    const done = spawnSync(
      '/bin/sh',
      [
        '-c',
        'ulimit -f 0; exec "$0" "$@"',
        process.execPath,
        main,
        'requests',
        'approve',
        '1',
        '--apply',
        '--json',
      ].map((word) => (word === '1' ? 'req_00000001' : word)),
      {
        encoding: 'utf8',
        env: { HOME: at.dir, WRAPTOOL_CONFIG: at.config, NODE_DISABLE_COMPILE_CACHE: '1' },
      },
    );
    assert.equal(done.status, 1, done.stdout + done.stderr);
    assert.equal(read(at), config(at.dir));
    assert.equal((await deskOf(at).request('req_00000001')).status, 'pending');
  });
});

test('killed between any two system calls: the old file and pending, or the new one and approved', async (t) => {
  const whole = bench(t);
  await put(whole, { id: 'req_00000001' });
  const calls = JSON.parse(
    spawnSync(process.execPath, [child, whole.dir, 'req_00000001', '0'], { encoding: 'utf8' }).stdout,
  ) as string[];
  const after = read(whole).replaceAll(whole.dir, 'DIR');
  const changing = /open|write|sync|rename|unlink|chmod|chown|mkdir|link/;
  const numbers = calls.flatMap((call, index) => (changing.test(call) ? [index + 1] : []));
  assert.ok(numbers.length > 8, calls.join(' '));
  const seen = new Set<string>();
  const one = async (number: number): Promise<void> => {
    const at = bench(t);
    await put(at, { id: 'req_00000001' });
    const killed = spawn(process.execPath, [child, at.dir, 'req_00000001', String(number)], {
      stdio: 'ignore',
    });
    assert.deepEqual(await once(killed, 'exit'), [null, 'SIGKILL']);
    const text = read(at);
    const isNew = text !== config(at.dir);
    if (isNew) assert.equal(text.replaceAll(at.dir, 'DIR'), after);
    const { status } = await deskOf(at).request('req_00000001');
    assert.equal(status, isNew ? 'approved' : 'pending', `at call ${number}, ${String(calls[number - 1])}`);
    seen.add(status);
    // Nothing that the dead one left is in the way.
    if (!isNew) assert.equal((await deskOf(at).approve('req_00000001', apply())).changed, true);
    assert.equal(read(at).replaceAll(at.dir, 'DIR'), after);
    assert.deepEqual(
      (await verifyLog(at.log)).flatMap(({ problems }) => problems),
      [],
    );
  };
  const left = [...numbers];
  await Promise.all(
    Array.from({ length: 3 }, async () => {
      for (let number = left.shift(); number !== undefined; number = left.shift()) await one(number);
    }),
  );
  assert.deepEqual([...seen].sort(), ['approved', 'pending']);
});

type Written = { readonly added: readonly string[]; readonly runs: string | null };

const written: readonly [sentence: string, wish: Omit<Wish, 'id'>, wide: boolean, result: Written][] = [
  [
    'flags as asked go to the rule of that subcommand, bare',
    { flags: ['--force', '--tags'] },
    false,
    { added: ['        flags: [--set-upstream, --force, --tags]'], runs: null },
  ],
  [
    'positionals that the rule takes change nothing else',
    { flags: ['--force'], args: ['origin', 'main'] },
    false,
    { added: ['        flags: [--set-upstream, --force]'], runs: 'push --force origin main' },
  ],
  [
    'positionals that it does not take make a rule of their own',
    { flags: ['--force'], args: ['backup', 'main'] },
    false,
    {
      added: ['      - { subcommand: push, flags: [--force], args: [{ enum: [backup] }, { enum: [main] }] }'],
      runs: 'push --force backup main',
    },
  ],
  [
    'a refused call makes a rule exactly as wide as it',
    { argv: ['push', '--force', 'origin', 'main'] },
    false,
    {
      added: [
        '      - { subcommand: push, flags: [--force], flag_constraints: { --force: { value: none, required: true } }, args: [{ enum: [origin] }, { enum: [main] }] }',
      ],
      runs: 'push --force origin main',
    },
  ],
  [
    'a value that was seen is an enum, and a flag given twice may repeat',
    { argv: ['push', '--push-option=a', '--push-option=b', '-u', 'origin', 'main'] },
    false,
    {
      added: [
        '      - { subcommand: push, flags: [--push-option, -u], flag_constraints: { --push-option: { enum: [a, b], repeat: true, required: true }, -u: { value: none, required: true } }, args: [{ enum: [origin] }, { enum: [main] }] }',
      ],
      runs: 'push --push-option=a --push-option=b -u origin main',
    },
  ],
  [
    'a flag that the program is known to give the next word gets it',
    { subcommand: ['commit'], argv: ['commit', '-m', 'a message'] },
    false,
    {
      added: [
        '      - { subcommand: commit, flags: [-m], flag_constraints: { -m: { enum: [a message], required: true } } }',
      ],
      runs: 'commit -m a message',
    },
  ],
  [
    'letters in one word are flags, each',
    { subcommand: ['status'], argv: ['status', '-sb'] },
    false,
    {
      added: [
        '      - { subcommand: status, flags: [-s, -b], flag_constraints: { -s: { value: none, required: true }, -b: { value: none, required: true } } }',
      ],
      runs: 'status -s -b',
    },
  ],
  [
    '"--" is kept',
    { subcommand: ['checkout'], argv: ['checkout', '--', 'README.md'] },
    false,
    {
      added: ['      - { subcommand: checkout, args: [{ enum: [README.md] }], end_of_options: true }'],
      runs: 'checkout -- README.md',
    },
  ],
  [
    '--wide leaves values open: the rule there is gains the flags where that is enough',
    { argv: ['push', '--force', 'origin', 'main'] },
    true,
    { added: ['        flags: [--set-upstream, --force]'], runs: 'push --force origin main' },
  ],
  [
    '--wide where it is not: a rule with the flags and any positionals',
    { argv: ['push', '--force', 'backup', 'main'] },
    true,
    {
      added: ['      - { subcommand: push, flags: [--force], args: any }'],
      runs: 'push --force backup main',
    },
  ],
];

void describe('what is written:', () => {
  for (const [sentence, wish, wide, { added, runs }] of written)
    test(sentence, async (t) => {
      const at = bench(t);
      await put(at, { id: 'req_00000001', ...wish });
      const desk = deskOf(at);
      const { change } = await desk.review(await desk.request('req'), wide);
      assert.ok(change.ok, JSON.stringify(change));
      const before = config(at.dir).split('\n');
      const approval: Approval = await desk.approve('req_00000001', { ...apply(), wide });
      assert.deepEqual(
        read(at)
          .split('\n')
          .filter((line) => !before.includes(line)),
        added,
      );
      const argv = change.decision.decision === 'allow' ? change.decision.argv.join(' ') : null;
      assert.deepEqual([argv, approval.verdict], [runs, 'allow']);
    });
});

const refused: readonly [sentence: string, wish: Omit<Wish, 'id'>, code: string][] = [
  ['an unknown tool', { tool: 'fj', subcommand: ['pr'], flags: [] }, 'unknown_tool'],
  ['a flag that a deny rule names', { flags: ['--mirror'] }, 'denied_by_rule'],
  ['an abbreviation of one', { flags: ['--mir'] }, 'denied_by_rule'],
  ['an argument that a deny rule matches', { flags: [], args: ['origin', '+main'] }, 'denied_by_rule'],
  ['a call with such an argument', { argv: ['push', 'origin', '+main'] }, 'denied_by_rule'],
  [
    'a global flag, which no rule can allow',
    { subcommand: ['status'], argv: ['-c', 'a=b', 'status'] },
    'request_unmet',
  ],
  ['characters that do not show', { flags: [], args: ['a\u202Eb'] }, 'request_malformed'],
];

void describe('is refused whatever the scope, and stays pending:', () => {
  for (const [sentence, wish, code] of refused)
    test(sentence, async (t) => {
      const at = bench(t);
      await put(at, { id: 'req_00000001', ...wish });
      const desk = deskOf(at);
      for (const choice of [{ scope: 'apply' }, { scope: 'session' }] as const)
        await assert.rejects(desk.approve('req_00000001', apply(choice)), { code });
      assert.equal(read(at), config(at.dir));
      assert.equal((await desk.request('req_00000001')).status, 'pending');
    });
});

test('a capability that no rule can allow is written as asked, and the verdict says so', async (t) => {
  const at = bench(t);
  const cc = '  cc: { binary: /usr/bin/true, guard: none, grammar: { response_files: true } }\n';
  fs.writeFileSync(at.config, config(at.dir) + cc);
  await put(at, { id: 'req_00000001', tool: 'cc', subcommand: [], flags: ['-c'], args: ['@file'] });
  const { verdict, reason } = await deskOf(at).approve('req_00000001', apply());
  assert.deepEqual([verdict, reason], ['deny', 'response_file_not_allowed']);
});
