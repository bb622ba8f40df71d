/** A program that runs inside is waited for, but not for ever: what was not seen is not taken for proven. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { runInside } from '../../src/up/inside.ts';
import { assertNoFault, preflight } from '../../src/up/preflight.ts';
import { probe } from '../../src/up/probe.ts';
import type { Executing, LaunchSpec, Started, Stdio } from '../../src/up/runtime/runtime.ts';
import { needs } from '../support/real.ts';
import { until } from '../support/until.ts';
import { Rig } from './runtime/rig.ts';

type Behaviour = {
  /** Of `exec` itself. */
  readonly begins?: Promise<unknown>;
  readonly kill?: () => Promise<void>;
  readonly exit: Promise<number>;
};

const never = new Promise<never>(() => undefined);
const short = { longestMs: 50, killedMs: 50 };

/** A runtime of which only `exec` is asked; `said` is where the program would write. */
function runtime({ begins, kill, exit }: Behaviour) {
  const seen: { kills: string[]; stdout: PassThrough | null } = { kills: [], stdout: null };
  const exec = async (_command: readonly string[], stdio: Stdio): Promise<Executing> => {
    if (stdio !== 'inherit') seen.stdout = stdio.stdout as PassThrough;
    await begins;
    return {
      exit,
      resize: async () => undefined,
      kill: async (signal) => {
        seen.kills.push(signal);
        await kill?.();
      },
    };
  };
  return { started: { exec } as unknown as Started, seen };
}

const bounded: readonly [string, Behaviour, RegExp][] = [
  [
    'it does not end, nor when it is killed',
    { exit: never },
    /^it did not end within 0\.05 s, nor within 0\.05 s of SIGKILL$/,
  ],
  ['its signal is not passed on', { exit: never, kill: () => never }, /nor within 0\.05 s of SIGKILL$/],
  ['it does not begin', { exit: never, begins: never }, /nor within 0\.05 s of SIGKILL$/],
  [
    'its signal finds nobody',
    { exit: never, kill: () => Promise.reject(new Error('gone')) },
    /nor within 0\.05 s of SIGKILL$/,
  ],
];
for (const [what, behaviour, why] of bounded)
  test(`bounded: ${what}`, async () => {
    const { started } = runtime(behaviour);
    const { code, out, err } = await runInside(started, 'probe', {}, null, short);
    assert.deepEqual({ code, out }, { code: null, out: '' });
    assert.match(err, why);
  });

test('bounded: one that is killed in time is not proven either, whatever it said before', async () => {
  const { promise, resolve } = Promise.withResolvers<number>();
  const { started, seen } = runtime({ exit: promise, kill: async () => resolve(0) });
  const saying = runInside(started, 'probe', {}, null, short);
  seen.stdout?.write('{"reasons":[]}\n');
  assert.deepEqual(await saying, { code: null, out: '', err: 'it did not end within 0.05 s' });
  assert.deepEqual(seen.kills, ['SIGKILL']);
});

test('one that was given up may go on talking, and its end may be a failure', async () => {
  const { promise, reject } = Promise.withResolvers<number>();
  const { started, seen } = runtime({ exit: promise });
  await runInside(started, 'probe', {}, null, short);
  seen.stdout?.write('late\n');
  reject(new Error('the runtime went away'));
  await new Promise((resolve) => setImmediate(resolve));
});

test('one that begins after it was given up is ended', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { started, seen } = runtime({ begins: promise, exit: never });
  await runInside(started, 'probe', {}, null, short);
  resolve();
  await until('it is killed', () => seen.kills.length > 0);
});

test('one that ends in time says what it said', async () => {
  const { promise, resolve } = Promise.withResolvers<number>();
  const { started, seen } = runtime({ exit: promise });
  const saying = runInside(started, 'probe', {});
  seen.stdout?.write('words');
  resolve(3);
  assert.deepEqual(await saying, { code: 3, out: 'words', err: '' });
  assert.deepEqual(seen.kills, []);
});

describe('the checks inside', () => {
  const spec = { workspace: { path: '/w' }, env: {}, network: 'none' } as unknown as LaunchSpec;
  /** A program that says that all is well, and ends, when it has been told all. */
  const content = (): Started => {
    const exec = async (_command: readonly string[], stdio: Stdio): Promise<Executing> => {
      const { stdin, stdout } = stdio as Exclude<Stdio, 'inherit'>;
      const exit = text(stdin as PassThrough).then(() => {
        stdout.write('[]\n');
        return 0;
      });
      return { exit, resize: async () => undefined, kill: async () => undefined };
    };
    return { exec } as unknown as Started;
  };

  test('are told of the gateway when it is there', async () => {
    const { promise, resolve } = Promise.withResolvers<{ tool: string; config: string }>();
    const findings = preflight(content(), spec, { env: {} }, [], promise);
    resolve({ tool: 'wraptool_discover', config: '' });
    assert.deepEqual(await findings, []);
  });

  test('say nothing for a gateway that could not be asked, whatever was said inside', async () => {
    const { promise, reject } = Promise.withResolvers<never>();
    const findings = preflight(content(), spec, { env: {} }, [], promise);
    reject(new Error('the gateway did not answer'));
    await assert.rejects(findings, { message: 'the gateway did not answer' });
  });
});

describe('in bubblewrap, with what passes signals on stopped by the harness', needs('bubblewrap'), () => {
  let rig: Rig;
  let started: Started;
  before(async () => {
    rig = new Rig({ runtime: 'bubblewrap' });
    started = await rig.prepare();
    // As the harness can: the same user's processes are its to stop. The first is bubblewrap's own, and deaf to it.
    const stop =
      'for p in /proc/[0-9]*; do n=${p#/proc/}; [ $n = $$ ] || [ $n = 1 ] || kill -STOP $n; done; : > stopped; sleep 1000';
    const streams = { stdin: null, stdout: new PassThrough().resume(), stderr: new PassThrough().resume() };
    await started.exec(['/bin/sh', '-c', stop], streams);
    // By a file: what would pass its words on is stopped too.
    await until('all is stopped', () => existsSync(path.join(rig.spec.workspace.path, 'stopped')), 60_000);
  });
  after(async () => {
    await started.stop();
    rig.remove();
  });

  test('a probe proves nothing, and the start is refused', async () => {
    const short = { longestMs: 500, killedMs: 500 };
    const proof = await probe(started, rig.spec, { tool: 'wraptool_discover', config: '' }, short);
    assert.equal(proof.ok, false);
    assert.match(proof.reasons.join(), /^the probe did not run inside \(no end\): it did not end within/);
    const asked = { tool: 'wraptool_discover', config: '' };
    const findings = await preflight(started, rig.spec, { env: {} }, [], asked, short);
    assert.deepEqual(
      findings.map(({ check, level }) => [check, level]),
      [['runtime', 'fault']],
    );
    assert.match(
      findings[0]?.detail ?? '',
      /^the checks did not run inside \(no end\): it did not end within/,
    );
    assert.throws(() => assertNoFault(findings), { code: 'preflight_failed' });
  });
});
