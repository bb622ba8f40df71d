import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, readdir, readlink, rename, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { parseCwdQuery } from '../../src/gateway/cwd-query.ts';
import { type CwdRequest, openCwd, resolveRoots, resolveWorkingDir } from '../../src/gateway/cwd.ts';
import { needs } from '../support/real.ts';
import { scratch } from '../support/scratch.ts';

type Case = {
  readonly id: string;
  readonly expected: 'allow' | 'deny';
  readonly reason?: string;
  readonly accept?: readonly string[];
  readonly cwd?: string | readonly string[];
  readonly url_query?: string;
  readonly setup: readonly string[];
  readonly why: string;
};

const corpus = new URL('../corpus/policy/P-CWD.cwd.cases.jsonl', import.meta.url);
const cases = readFileSync(corpus, 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Case);
const run = promisify(execFile);

async function setUp(t: TestContext, root: string, steps: readonly string[]): Promise<void> {
  await mkdir(path.join(root, 'app'), { recursive: true });
  for (const step of steps) {
    const [verb, from, to] = step.replaceAll('$ROOT', root).split(' ') as [string, string, string];
    if (verb === 'mkdir') await mkdir(from, { recursive: true });
    else if (verb === 'symlink') await symlink(from, to);
    else if (verb === 'file') await writeFile(from, '');
    else if (verb === 'bind') {
      await run('mount', ['--bind', from, to]);
      t.after(() => run('umount', [to]));
    } else throw new Error(step);
  }
}

/** How the case's value reaches the gateway: in the URL, encoded once. A list is what some clients write as `cwd[]`. */
function queryOf(one: Case, root: string): string {
  if (one.url_query !== undefined) return one.url_query.replaceAll('$ROOT', root);
  const cwd = one.cwd!;
  if (typeof cwd === 'string') return `cwd=${encodeURIComponent(cwd.replaceAll('$ROOT', root))}`;
  return cwd.map((value) => `cwd[]=${encodeURIComponent(value.replaceAll('$ROOT', root))}`).join('&');
}

async function judge(
  request: Partial<CwdRequest>,
): Promise<{ code: string; dir: string | null; root: string | null }> {
  const opened = await openCwd({ query: '', peerCwd: null, workingDir: null, roots: [], ...request });
  const code =
    opened.malformed !== null ? 'request_malformed' : opened.verdict.ok ? 'allow' : opened.verdict.code;
  assert.equal(opened.dir !== null, code === 'allow', 'a folder is open exactly when it is allowed');
  const dir = opened.dir === null ? null : await readlink(`/proc/self/fd/${opened.dir.fd}`);
  assert.equal(opened.dir?.realPath ?? null, dir);
  await opened.dir?.close();
  return { code, dir, root: opened.root };
}

test('the corpus is whole', () => assert.equal(cases.length, 36));

for (const one of cases) {
  const parts = one.setup.some((step) => step.startsWith('bind')) ? needs('root') : {};
  test(`${one.id}: ${one.why}`, parts, async (t) => {
    const root = scratch();
    await setUp(t, root, one.setup);
    const roots = await resolveRoots([`${root}/app`]);
    const expected = one.accept ?? [one.expected === 'allow' ? 'allow' : one.reason!];
    const { code, dir } = await judge({ query: queryOf(one, root), roots });
    assert.ok(expected.includes(code), `${code}, not ${expected.join(' or ')}`);
    if (code === 'allow') assert.ok(dir === `${root}/app` || dir!.startsWith(`${root}/app/`), dir!);
    if (typeof one.cwd !== 'string') return;
    // The same path as the peer's own working directory.
    const asPeer = await judge({ peerCwd: one.cwd.replaceAll('$ROOT', root), roots });
    assert.ok(expected.includes(asPeer.code), `as peer: ${asPeer.code}`);
  });
}

const queries: [string, string, ReturnType<typeof parseCwdQuery>][] = [
  ['nothing', '', { ok: true, cwd: null }],
  ['one value', 'cwd=/a%20b', { ok: true, cwd: '/a b' }],
  ['a name that is itself encoded', '%63wd=/a', { ok: true, cwd: '/a' }],
  ['an empty pair', 'cwd=/a&', { ok: true, cwd: '/a' }],
  ['a percent sign that begins no escape', 'cwd=/100%25', { ok: true, cwd: '/100%' }],
  ['two values', 'cwd=/a&cwd=/a', { ok: false, code: 'cwd_invalid', detail: 'cwd is given more than once' }],
  [
    'two values, one with an encoded name',
    'cwd=/a&c%77d=/b',
    { ok: false, code: 'cwd_invalid', detail: 'cwd is given more than once' },
  ],
  ['a value encoded twice', 'cwd=%252Fa', { ok: false, code: 'cwd_invalid', detail: 'cwd is encoded twice' }],
  [
    'a broken escape',
    'cwd=/a%2',
    { ok: false, code: 'cwd_invalid', detail: 'cwd is not valid UTF-8 or wrongly encoded' },
  ],
  [
    'an overlong encoding',
    'cwd=%c0%af',
    { ok: false, code: 'cwd_invalid', detail: 'cwd is not valid UTF-8 or wrongly encoded' },
  ],
  [
    'a token in the URL',
    'cwd=/a&token=x',
    { ok: false, code: 'request_malformed', detail: "the URL may have no parameter other than 'cwd'" },
  ],
];

for (const [name, query, expected] of queries) {
  test(`query with ${name}`, () => assert.deepEqual(parseCwdQuery(query), expected));
}

test('NUL, and a path that is too long, are invalid', async () => {
  const roots = await resolveRoots([scratch()]);
  assert.equal((await judge({ query: 'cwd=/a%00b', roots })).code, 'cwd_invalid');
  assert.equal((await judge({ query: `cwd=/${'a'.repeat(5000)}`, roots })).code, 'cwd_invalid');
  assert.equal((await judge({ query: `cwd=/${'a'.repeat(300)}`, roots })).code, 'cwd_invalid');
});

test('the client’s folder comes before the peer’s, and the peer’s before the tool’s', async () => {
  const root = scratch();
  for (const name of ['a', 'b', 'c']) await mkdir(`${root}/${name}`);
  const roots = await resolveRoots([root]);
  const [peerCwd, workingDir] = [`${root}/b`, `${root}/c`];
  assert.equal((await judge({ query: `cwd=${root}/a`, peerCwd, workingDir, roots })).dir, `${root}/a`);
  assert.equal((await judge({ peerCwd, workingDir, roots })).dir, `${root}/b`);
  assert.equal((await judge({ workingDir, roots })).dir, `${root}/c`);
  assert.equal((await judge({ query: 'cwd=gone', peerCwd, workingDir, roots })).code, 'cwd_invalid');
});

test('with no roots a client’s folder is not checked, but must still be one', async () => {
  const root = scratch();
  assert.deepEqual(await judge({ query: `cwd=${root}` }), { code: 'allow', dir: root, root: null });
  assert.equal((await judge({ query: 'cwd=relative' })).code, 'cwd_invalid');
  assert.equal((await judge({ query: '' })).code, 'cwd_invalid');
});

test('the root that contains the folder is told', async () => {
  const root = scratch();
  await mkdir(`${root}/a/b`, { recursive: true });
  const roots = await resolveRoots([`${root}/a`]);
  assert.equal((await judge({ query: `cwd=${root}/a/b`, roots })).root, `${root}/a`);
});

test('a refusal names the roots', async () => {
  const root = scratch();
  const roots = await resolveRoots([root]);
  const { verdict } = await openCwd({ query: 'cwd=/usr', peerCwd: null, workingDir: null, roots });
  assert.deepEqual(verdict, {
    ok: false,
    code: 'cwd_outside_roots',
    detail: `the working directory is not in a folder that is allowed (allowed: '${root}')`,
  });
});

test('a working_dir is the operator’s: outside every root, but only as long as it is the same folder', async () => {
  const root = scratch();
  await mkdir(`${root}/tool/deep`, { recursive: true });
  await mkdir(`${root}/other/deep`, { recursive: true });
  await symlink(`${root}/tool`, `${root}/link`);
  const roots = await resolveRoots([`${root}/other`]);
  const workingDir = await resolveWorkingDir(`${root}/link/deep`);
  assert.equal(workingDir, `${root}/tool/deep`);
  assert.equal((await judge({ workingDir, roots })).dir, workingDir);
  await rename(`${root}/tool`, `${root}/old`);
  assert.equal((await judge({ workingDir, roots })).code, 'cwd_not_found');
  await symlink(`${root}/other`, `${root}/tool`);
  assert.equal((await judge({ workingDir, roots })).code, 'cwd_invalid');
});

test('a working_dir or root that is no folder is an error of the config', async () => {
  const root = scratch();
  await writeFile(`${root}/file`, '');
  await assert.rejects(resolveWorkingDir(`${root}/gone`), { code: 'config_invalid' });
  await assert.rejects(resolveRoots([`${root}/file`]), { code: 'config_invalid' });
});

test('RACE-004: a root that was replaced by a link, or by another folder, allows nothing', async () => {
  const root = scratch();
  await mkdir(`${root}/app`);
  await mkdir(`${root}/other`);
  const roots = await resolveRoots([`${root}/app`]);
  await rename(`${root}/app`, `${root}/app.bak`);
  await symlink(`${root}/other`, `${root}/app`);
  assert.equal((await judge({ query: `cwd=${root}/app`, roots })).code, 'cwd_outside_roots');
  await rm(`${root}/app`);
  await mkdir(`${root}/app`);
  assert.equal((await judge({ query: `cwd=${root}/app`, roots })).code, 'cwd_outside_roots');
});

test('a folder that was removed while it was somebody’s working directory is not found', async () => {
  const root = scratch();
  const roots = await resolveRoots([root]);
  await mkdir(`${root}/x (deleted)`);
  assert.equal((await judge({ peerCwd: `${root}/x (deleted)`, roots })).code, 'allow');
  assert.equal((await judge({ peerCwd: `${root}/y (deleted)`, roots })).code, 'cwd_not_found');
});

test('a mount below a root is outside, unless it is a root itself', needs('root'), async (t) => {
  const root = scratch();
  await setUp(t, root, ['mkdir $ROOT/app/m', 'mkdir $ROOT/other/in', 'bind $ROOT/other $ROOT/app/m']);
  const outer = await resolveRoots([`${root}/app`]);
  assert.equal((await judge({ query: `cwd=${root}/app/m/in`, roots: outer })).code, 'cwd_outside_roots');
  const both = await resolveRoots([`${root}/app`, `${root}/app/m`]);
  assert.deepEqual(await judge({ query: `cwd=${root}/app/m/in`, roots: both }), {
    code: 'allow',
    dir: `${root}/app/m/in`,
    root: `${root}/app/m`,
  });
});

test('nothing stays open after a refusal', async () => {
  const root = scratch();
  const roots = await resolveRoots([root]);
  const before = (await readdir('/proc/self/fd')).length;
  for (let index = 0; index < 50; index++) {
    await judge({ query: 'cwd=/usr', roots });
    await judge({ query: `cwd=${root}`, roots });
    await judge({ workingDir: '/proc/self/cwd', roots });
  }
  assert.equal((await readdir('/proc/self/fd')).length, before);
});
