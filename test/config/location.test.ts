/** Who else could write a file, and what must not lie where an agent can write. */
import assert from 'node:assert/strict';
import { chmod, chown, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { checkLocations, loadConfig } from '../../src/config/load.ts';
import { assertOperatorsOwn, assertOutside } from '../../src/config/location.ts';
import { WraptoolError } from '../../src/errors.ts';
import { needs } from '../support/real.ts';

async function place(t: TestContext): Promise<string> {
  const dir = await realpath(await mkdtemp(path.join(tmpdir(), 'wraptool-test-')));
  t.after(() => rm(dir, { recursive: true }));
  return dir;
}

async function file(dir: string, name = 'c.yaml', text = 'version: 1\n'): Promise<string> {
  const full = path.join(dir, name);
  await writeFile(full, text, { mode: 0o600 });
  return full;
}

/** The message of the refusal, or null. */
async function refused(check: Promise<unknown>): Promise<string | null> {
  try {
    await check;
    return null;
  } catch (error) {
    assert.ok(error instanceof WraptoolError && error.code === 'unsafe_location', String(error));
    assert.notEqual(error.hint, undefined);
    return error.message;
  }
}

void test('a file of our own in a sticky /tmp is fine', async (t) => {
  assert.equal(await refused(assertOperatorsOwn(await file(await place(t)), 'config')), null);
});

void test('a file that group or others can write', async (t) => {
  const own = await file(await place(t));
  for (const mode of [0o620, 0o602, 0o666]) {
    await chmod(own, mode);
    assert.match((await refused(assertOperatorsOwn(own, 'config'))) ?? '', /can write "/);
  }
});

void test('a folder on the way that others can write', async (t) => {
  const dir = await place(t);
  await mkdir(path.join(dir, 'a', 'b'), { recursive: true });
  const own = await file(path.join(dir, 'a', 'b'));
  await chmod(path.join(dir, 'a'), 0o777);
  assert.match((await refused(assertOperatorsOwn(own, 'config'))) ?? '', /everybody can write ".*\/a"/);
  await chmod(path.join(dir, 'a'), 0o1777);
  assert.equal(await refused(assertOperatorsOwn(own, 'config')), null);
});

void test('somebody else’s entry in a sticky folder, file or folder', needs('root'), async (t) => {
  const dir = await place(t);
  await chmod(dir, 0o1777);
  await mkdir(path.join(dir, 'theirs'));
  const own = await file(path.join(dir, 'theirs'));
  await chown(path.join(dir, 'theirs'), 65534, 65534);
  assert.notEqual(await refused(assertOperatorsOwn(own, 'config')), null);
  const theirs = await file(dir);
  await chown(theirs, 65534, 65534);
  assert.notEqual(await refused(assertOperatorsOwn(theirs, 'config')), null);
});

void test('every link on the way counts, and so does where it leads', async (t) => {
  const dir = await place(t);
  await mkdir(path.join(dir, 'open'), { mode: 0o777 });
  await chmod(path.join(dir, 'open'), 0o777);
  await mkdir(path.join(dir, 'closed'));
  const own = await file(path.join(dir, 'closed'));
  const exposed = await file(path.join(dir, 'open'));
  await symlink(own, path.join(dir, 'open', 'link'));
  await symlink('../open', path.join(dir, 'closed', 'away'));
  await symlink('loop', path.join(dir, 'loop'));
  assert.notEqual(await refused(assertOperatorsOwn(path.join(dir, 'open', 'link'), 'config')), null);
  assert.notEqual(
    await refused(assertOperatorsOwn(path.join(dir, 'closed', 'away', 'c.yaml'), 'config')),
    null,
  );
  assert.notEqual(await refused(assertOperatorsOwn(exposed, 'config')), null);
  assert.match((await refused(assertOperatorsOwn(path.join(dir, 'loop'), 'config'))) ?? '', /too many links/);
});

void test('what is not there yet is judged by its folder', async (t) => {
  const dir = await place(t);
  assert.equal(await refused(assertOperatorsOwn(path.join(dir, 'new', 'log'), 'log')), null);
  await chmod(dir, 0o777);
  assert.notEqual(await refused(assertOperatorsOwn(path.join(dir, 'new', 'log'), 'log')), null);
  await chmod(dir, 0o1777);
  assert.notEqual(await refused(assertOperatorsOwn(path.join(dir, 'new', 'log'), 'log')), null);
});

void test('inside is by the real path, segment by segment', async (t) => {
  const dir = await place(t);
  for (const name of ['root', 'root-not', 'other']) await mkdir(path.join(dir, name));
  await symlink(path.join(dir, 'root'), path.join(dir, 'other', 'link'));
  const zones = [path.join(dir, 'root')];
  assert.equal(await refused(assertOutside(path.join(dir, 'root-not', 'x'), zones, 'log')), null);
  assert.notEqual(await refused(assertOutside(path.join(dir, 'root'), zones, 'log')), null);
  assert.notEqual(await refused(assertOutside(path.join(dir, 'root', 'new', 'x'), zones, 'log')), null);
  assert.notEqual(await refused(assertOutside(path.join(dir, 'other', 'link', 'x'), zones, 'log')), null);
  assert.notEqual(await refused(assertOutside(path.join(dir, 'x'), ['/'], 'log')), null);
});

void test('config, log, token and state are kept out of zones and cwd roots', async (t) => {
  const dir = await place(t);
  for (const name of ['ws', 'etc', 'state']) await mkdir(path.join(dir, name));
  const env = { HOME: dir };
  const text = (log: string): string =>
    `version: 1\nmcp: { allowed_cwd_roots: [${dir}/ws], token_file: ${dir}/etc/token }\nrequests: { log: ${log} }\n`;
  const good = await file(path.join(dir, 'etc'), 'c.yaml', text(`${dir}/state/log`));
  const snapshot = await loadConfig({ path: good, env });
  assert.equal(await refused(checkLocations(snapshot, [])), null);
  assert.match((await refused(checkLocations(snapshot, [path.join(dir, 'etc')]))) ?? '', /^the config/);
  assert.match((await refused(checkLocations(snapshot, [path.join(dir, 'state')]))) ?? '', /^the log/);
  assert.match(
    (await refused(checkLocations(snapshot, [], [path.join(dir, 'ws', 'run')]))) ?? '',
    /^the state/,
  );
  const inside = await file(path.join(dir, 'ws'), 'c.yaml', text(`${dir}/state/log`));
  assert.match((await refused(loadConfig({ path: inside, env }))) ?? '', /lies inside/);
  assert.equal(await refused(loadConfig({ path: inside, env, locations: false })), null);
});
