/**
 * What the handed workspaces can do to a session: with the default definition nothing; with their own nothing without the
 * approval that names it. The engine's client is a stand-in that records each call, passes questions on to the real one
 * and starts no container.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { before, describe, test } from 'node:test';
import { approve } from '../../src/devcontainer/approval.ts';
import { inspect } from '../../src/devcontainer/inspect.ts';
import { obstacles } from '../../src/devcontainer/obstacles.ts';
import type { UpWorld } from '../../src/up/options.ts';
import { ownDefinition } from '../../src/up/own-definition.ts';
import { up } from '../../src/up/run.ts';
import { planBuild } from '../../src/up/runtime/approved-image.ts';
import { grantsOf } from '../../src/up/runtime/approved.ts';
import { devcontainerUp, findCli } from '../../src/up/runtime/devcontainer-cli.ts';
import { definition, mountsOf } from '../../src/up/runtime/devcontainer-definition.ts';
import { lifecycleSteps } from '../../src/up/runtime/lifecycle.ts';
import type { LaunchSpec } from '../../src/up/runtime/runtime.ts';
import { ensureTestImage, testImage } from '../support/image.ts';
import { needs } from '../support/real.ts';
import { cases, make, type Case } from './corpus.ts';

const docker = needs('docker');
before(() => {
  if (docker.skip === undefined) ensureTestImage();
});

async function canaries(workspace: string): Promise<readonly string[]> {
  return (await readdir(workspace, { recursive: true })).filter((name) => name.includes('canary'));
}

function world(env: Record<string, string>, cwd: string): UpWorld {
  const done = async <T>(_title: string, work: (say: (message: string) => void) => Promise<T>): Promise<T> =>
    work(() => undefined);
  return {
    env,
    cwd,
    main: '/nonexistent',
    step: done,
    note: () => undefined,
    warn: () => undefined,
    attention: () => undefined,
    ask: null,
    approve: null,
    stdio: 'inherit',
  };
}

async function folder(t: test.TestContext): Promise<string> {
  const dir = await mkdtemp(path.join(os.tmpdir(), 'wraptool-effects-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

/** A client that starts nothing; `log` gets the words of each call. */
async function standIn(dir: string): Promise<{ file: string; calls: () => Promise<readonly string[][]> }> {
  const [file, log] = [path.join(dir, 'docker'), path.join(dir, 'calls')];
  const real = execFileSync('sh', ['-c', 'command -v docker'], { encoding: 'utf8' }).trim();
  await writeFile(log, '');
  await writeFile(
    file,
    `#!/bin/sh\n{ for word; do printf '%s\\036' "$word"; done; printf '\\035'; } >> '${log}'
case $1 in run|create|start|build|pull) echo stand-in >&2; exit 1;; events) exit 0;; esac\nexec ${real} "$@"\n`,
  );
  await chmod(file, 0o755);
  const calls = async (): Promise<string[][]> =>
    (await readFile(log, 'utf8'))
      .split('\u001d')
      .filter(Boolean)
      .map((call) => call.split('\u001e').slice(0, -1));
  return { file, calls };
}

function specOf(workspace: string, dir: string): LaunchSpec {
  return {
    session: { name: 'shell-app', id: '0011223344556677', dir },
    workspace: { path: workspace, given: workspace, uid: 1500, gid: 1500 },
    home: path.join(dir, 'home'),
    socketDir: path.join(dir, 'socket'),
    readOnly: [],
    env: { PATH: '/bin', WRAPTOOL_TOKEN: 't' },
    secretEnv: new Set(['WRAPTOOL_TOKEN']),
    command: ['/bin/sh'],
    network: 'none',
    baseImage: testImage,
  };
}

/** What wraptool itself mounts for the workspace. */
const plain = (workspace: string) => ({
  readOnly: [],
  writable: [{ source: workspace, target: workspace }],
  readOnlyOver: [],
  identities: [],
});

describe('without approval `up --devcontainer workspace` is refused, and nothing has happened', () => {
  for (const one of cases)
    test(`${one.id} ${one.kind}: ${one.what}`, async (t) => {
      const [made, dir] = [await make(one), await folder(t)];
      t.after(made.remove);
      const env = { PATH: '/nonexistent', HOME: dir, XDG_RUNTIME_DIR: dir };
      const options = {
        harness: 'shell',
        workspace: made.workspace,
        devcontainer: 'workspace',
        yolo: false,
        args: [],
      };
      await assert.rejects(
        up({ ...options, definition: one.config ?? undefined }, world(env, dir)),
        (error: { code: string }) =>
          ['devcontainer_unapproved', 'devcontainer_refused', 'devcontainer_missing'].includes(error.code),
      );
      assert.deepEqual(await canaries(made.workspace), []);
      assert.deepEqual(await readdir(dir), []);
    });
});

describe('approved, only what was named takes effect', () => {
  for (const one of cases.filter(({ config }) => config !== null))
    test(`${one.id} ${one.kind}: ${one.what}`, async (t) => {
      const [made, dir] = [await make(one), await folder(t)];
      t.after(made.remove);
      const env = { HOME: dir, XDG_STATE_HOME: path.join(dir, 'state'), USER: 'somebody' };
      const named = { definition: one.config ?? undefined, cwd: dir };
      const found = await inspect(made.workspace, named);
      assert.ok(found);
      await approve(env, found, new Date(0));
      const answer = ownDefinition(made.workspace, named, { env, cwd: dir, approve: null });
      if (obstacles(found).length > 0) return assert.rejects(answer, { code: 'devcontainer_refused' });
      const approved = await answer;
      const spec = { ...specOf(made.workspace, dir), approved };
      const granted = grantsOf(approved, spec, env);
      const plan = planBuild(approved, { env, folder: dir, cli: 'cli', dockerPath: 'docker' });
      const rights = new Set(
        found.findings.filter(({ severity }) => severity === 'host').map(({ code }) => code),
      );
      if (!['privileged', 'run_args'].some((code) => rights.has(code as never)))
        assert.equal(granted.privileged, false);
      if (!rights.has('cap_add')) assert.deepEqual(granted.capAdd, []);
      if (!rights.has('security_opt')) assert.deepEqual(granted.securityOpt, []);
      if (!rights.has('host_namespace') && !rights.has('run_args')) assert.equal(granted.ipc, '');
      if (rights.size === 0)
        assert.deepEqual(
          granted.args.filter((arg) => /^--(privileged|cap-add|device|publish|volumes-from)/.test(arg)),
          [],
        );
      assert.ok(!granted.args.some((arg) => arg.startsWith('--pid=')), 'never the processes of others');
      const whole = JSON.stringify([plan, granted, lifecycleSteps(approved.given, made.workspace)]);
      assert.doesNotMatch(whole, /initialize-canary|initializeCommand/);
      assert.doesNotMatch(
        whole,
        new RegExp(`${made.workspace}/\\.devcontainer`),
        'the copy, not the workspace',
      );
      assert.deepEqual(await canaries(made.workspace), []);
    });
});

/** One of each kind, the first that reaches the host. */
const ofEachKind = [
  ...new Map(
    cases
      .filter(({ findings }) => findings.some(({ severity }) => severity === 'host'))
      .map((one) => [one.kind, one]),
  ).values(),
];

describe('with the default definition nothing that the workspace holds does anything', () => {
  test('for each of them the session’s definition is the same', async (t) => {
    const dir = await folder(t);
    const given = { init: true, runArgs: ['--rm'] };
    const made = (workspace: string) => {
      const spec = specOf(workspace, dir);
      return JSON.stringify(definition(given, spec, 'image', mountsOf(spec, plain(workspace)))).replaceAll(
        workspace,
        '/w',
      );
    };
    assert.deepEqual(new Set(cases.map(({ id }) => made(`/src/${id}`))).size, 1);
  });
  for (const one of ofEachKind) test(`${one.id} ${one.kind}: ${one.what}`, docker, (t) => started(t, one));
});

async function started(t: test.TestContext, one: Case): Promise<void> {
  const [made, dir] = [await make(one), await folder(t)];
  t.after(made.remove);
  await mkdir(path.join(dir, 'bin'));
  const client = await standIn(path.join(dir, 'bin'));
  const spec = specOf(made.workspace, dir);
  const given = {
    init: true,
    overrideCommand: false,
    updateRemoteUserUID: false,
    userEnvProbe: 'none',
    runArgs: ['--rm', '--cap-drop=ALL'],
  };
  const request = {
    sessionId: spec.session.id,
    folder: path.join(dir, 'devcontainer'),
    definition: definition(given, spec, testImage, mountsOf(spec, plain(made.workspace))),
    // Of its own: the CLI takes a container that has them for the session's.
    labels: [`wraptool.id=${randomBytes(8).toString('hex')}`],
    socketPath: '/var/run/docker.sock',
    dockerPath: client.file,
  };
  const env = { PATH: process.env['PATH'], HOME: dir };
  await assert.rejects(
    devcontainerUp(findCli() ?? '', request, env, () => undefined, AbortSignal.timeout(60_000)),
    {
      code: 'runtime_failed',
    },
  );
  const run = (await client.calls()).find((call) => call[0] === 'run') ?? [];
  const mounts = run.flatMap((word, at) =>
    word === '--mount' ? [run[at + 1]] : word.startsWith('--mount=') ? [word.slice(8)] : [],
  );
  const mine = [made.workspace, spec.home, spec.socketDir];
  assert.deepEqual(mounts.map((mount) => /source=([^,]*)/.exec(mount ?? '')?.[1] ?? '').sort(), mine.sort());
  const reaching = run.filter((word) =>
    /^(--privileged|--cap-add|--device|--pid|--ipc|--gpus|-v|--volume|-p|--publish|--security-opt|-e|--env)(=|$)/.test(
      word,
    ),
  );
  assert.deepEqual(reaching, []);
  assert.deepEqual(await canaries(made.workspace), []);
}
