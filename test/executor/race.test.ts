import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, rename, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { before, test, type TestContext } from 'node:test';
import { resolveBinary } from '../../src/executor/binary.ts';
import { openCwd, type Root, resolveRoots } from '../../src/gateway/cwd.ts';
import { needs } from '../support/real.ts';
import { finish, fixture, frozen, startExecutor } from './support.ts';
import { scratch } from '../support/scratch.ts';

const tries = 1000;
const parts = needs('cc', 'linux');
let swapper = '';

before(async () => {
  if (parts.skip !== undefined) return;
  swapper = path.join(scratch(), 'swap');
  const { status, stderr } = spawnSync('cc', ['-O', '-o', swapper, fixture('swap.c')], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
});

async function startSwapping(t: TestContext, one: string, other: string): Promise<() => Promise<void>> {
  const child = spawn(swapper, [one, other], { stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return async () => {
    const ended = once(child, 'close');
    child.stdin.end();
    assert.deepEqual(await ended, [0, null]);
  };
}

/** A root with a folder in it that holds "inside", and a folder elsewhere that holds "outside". */
async function place(): Promise<{ root: string; roots: readonly Root[] }> {
  const root = scratch();
  await mkdir(`${root}/app/a/sub`, { recursive: true });
  await mkdir(`${root}/other/sub`, { recursive: true });
  for (const [where, what] of [
    ['app/a', 'inside'],
    ['app/a/sub', 'inside'],
    ['other', 'outside'],
    ['other/sub', 'outside'],
  ] as const) {
    await writeFile(`${root}/${where}/marker`, what);
  }
  return { root, roots: await resolveRoots([`${root}/app`]) };
}

/** Asks for a folder again and again while it is swapped; counts what was refused and what children saw. */
async function hammer(t: TestContext, cwd: string, roots: readonly Root[]): Promise<Map<string, number>> {
  const executor = startExecutor(t);
  const seen = new Map<string, number>();
  for (let index = 0; index < tries; index++) {
    const { dir, verdict } = await openCwd({ query: `cwd=${cwd}`, peerCwd: null, workingDir: null, roots });
    const what =
      dir === null
        ? verdict.ok
          ? 'nothing'
          : verdict.code
        : (await finish(executor, await frozen('/bin/cat', ['marker'], { cwd: dir }))).stdout;
    seen.set(what, (seen.get(what) ?? 0) + 1);
  }
  return seen;
}

function assertHeld(seen: Map<string, number>): void {
  assert.equal(seen.get('outside'), undefined, JSON.stringify([...seen]));
  assert.ok(
    (seen.get('inside') ?? 0) > 0 && (seen.get('cwd_outside_roots') ?? 0) > 0,
    JSON.stringify([...seen]),
  );
  assert.equal(
    [...seen.values()].reduce((a, b) => a + b),
    tries,
  );
}

test('RACE-001: a folder that was swapped for a link after the check does not matter', async (t) => {
  const { root, roots } = await place();
  const executor = startExecutor(t);
  const { dir } = await openCwd({ query: `cwd=${root}/app/a/sub`, peerCwd: null, workingDir: null, roots });
  await rename(`${root}/app/a/sub`, `${root}/app/a/old`);
  await symlink(`${root}/other`, `${root}/app/a/sub`);
  assert.equal(
    (await finish(executor, await frozen('/bin/cat', ['marker'], { cwd: dir! }))).stdout,
    'inside',
  );
});

test('RACE-002: nor does a parent of it', async (t) => {
  const { root, roots } = await place();
  const executor = startExecutor(t);
  const { dir } = await openCwd({ query: `cwd=${root}/app/a/sub`, peerCwd: null, workingDir: null, roots });
  await rename(`${root}/app/a`, `${root}/app/old`);
  await symlink(`${root}/other`, `${root}/app/a`);
  assert.equal(
    (await finish(executor, await frozen('/bin/cat', ['marker'], { cwd: dir! }))).stdout,
    'inside',
  );
});

test(
  `RACE-003: ${tries} tries while the folder and a link change places: no child sees the outside`,
  parts,
  async (t) => {
    const { root, roots } = await place();
    await symlink(`${root}/other`, `${root}/app/link`);
    const stop = await startSwapping(t, `${root}/app/a`, `${root}/app/link`);
    assertHeld(await hammer(t, `${root}/app/a`, roots));
    await stop();
  },
);

test(`RACE-003: ${tries} tries while a parent and a link change places`, parts, async (t) => {
  const { root, roots } = await place();
  await symlink(`${root}/other`, `${root}/app/link`);
  const stop = await startSwapping(t, `${root}/app/a`, `${root}/app/link`);
  assertHeld(await hammer(t, `${root}/app/a/sub`, roots));
  await stop();
});

test(
  `RACE-004: ${tries} tries while the root itself and a link to elsewhere change places`,
  parts,
  async (t) => {
    const { root, roots } = await place();
    await symlink(`${root}/other`, `${root}/link`);
    const stop = await startSwapping(t, `${root}/app`, `${root}/link`);
    const seen = await hammer(t, `${root}/app/a`, roots);
    await stop();
    assert.equal(seen.get('outside'), undefined, JSON.stringify([...seen]));
  },
);

test('RACE-005: a binary that was swapped after the config was loaded does not run', async (t) => {
  const root = scratch();
  await cp('/bin/echo', `${root}/tool`);
  const executor = startExecutor(t);
  const call = await frozen(`${root}/tool`, ['fine']);
  const options = { signal: new AbortController().signal };
  assert.equal((await executor.run(call, options)).kind, 'finished');
  await cp('/bin/ls', `${root}/new`);
  await rename(`${root}/new`, `${root}/tool`);
  await assert.rejects(executor.run(call, options), { code: 'binary_invalid' });
  await rename(`${root}/tool`, `${root}/moved`);
  await symlink(`${root}/moved`, `${root}/tool`);
  await assert.rejects(executor.run(call, options), { code: 'binary_invalid' });
  await call.cwd.close();
  assert.equal((await resolveBinary(`${root}/tool`, [])).path, `${root}/moved`);
});
