import assert from 'node:assert/strict';
import { chmod, chown, cp, mkdir, symlink, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { checkBinary, resolveBinary } from '../../src/executor/binary.ts';
import { needs } from '../support/real.ts';
import { scratch } from '../support/scratch.ts';

async function script(path: string, content: string, mode = 0o755): Promise<string> {
  await writeFile(path, content);
  await chmod(path, mode);
  return path;
}

async function refused(path: string, message: RegExp, agentWritable: readonly string[] = []): Promise<void> {
  await assert.rejects(resolveBinary(path, agentWritable), (error: NodeJS.ErrnoException) => {
    assert.equal(error.code, 'binary_invalid');
    assert.match(error.message, message);
    return true;
  });
}

test('links are followed once, to the real file', async () => {
  const root = scratch();
  await mkdir(`${root}/bin`);
  await cp('/bin/true', `${root}/real`);
  await symlink('../real', `${root}/bin/tool`);
  const binary = await resolveBinary(`${root}/bin/tool`, []);
  assert.equal(binary.path, `${root}/real`);
  assert.ok(Object.isFrozen(binary));
  await checkBinary(binary);
});

test('EXEC-001: a script without #! would be run by libc with a shell', async () => {
  const root = scratch();
  await refused(await script(`${root}/x`, 'echo hi\n'), /neither an ELF file nor a script/);
  await refused(await script(`${root}/empty`, ''), /neither/);
});

test('an interpreter that depends on the working directory is refused', async () => {
  const root = scratch();
  await refused(await script(`${root}/a`, '#!bin/sh\n'), /depends on the working directory/);
  await refused(await script(`${root}/b`, '#!\n'), /depends on the working directory/);
  await refused(await script(`${root}/c`, '#! ./sh\n'), /depends on the working directory/);
  assert.equal((await resolveBinary(await script(`${root}/d`, '#! /bin/sh -e\n'), [])).path, `${root}/d`);
});

test('an interpreter is held to the same rules, and so is its interpreter', async () => {
  const root = scratch();
  await mkdir(`${root}/ws`);
  await script(`${root}/ws/sh`, '#!/bin/sh\n');
  await refused(await script(`${root}/x`, `#!${root}/ws/sh\n`), /where the agent can write/, [`${root}/ws`]);
  await script(`${root}/middle`, `#!${root}/ws/sh\n`);
  await refused(await script(`${root}/y`, `#!${root}/middle\n`), /where the agent can write/, [`${root}/ws`]);
  await script(`${root}/loop`, `#!${root}/loop\n`);
  await refused(`${root}/loop`, /too many interpreters/);
});

test('what the agent can write is refused, however it is spelled', async () => {
  const root = scratch();
  await mkdir(`${root}/ws/bin`, { recursive: true });
  await mkdir(`${root}/ws-other`);
  await cp('/bin/true', `${root}/ws/bin/tool`);
  await cp('/bin/true', `${root}/ws-other/tool`);
  await symlink(`${root}/ws/bin/tool`, `${root}/tool`);
  await refused(`${root}/ws/bin/tool`, /where the agent can write/, [`${root}/ws`]);
  await refused(`${root}/tool`, /where the agent can write/, [`${root}/ws`]);
  await refused(`${root}/ws-other/../ws/bin/tool`, /where the agent can write/, [`${root}/ws`]);
  assert.equal((await resolveBinary(`${root}/ws-other/tool`, [`${root}/ws`])).path, `${root}/ws-other/tool`);
});

test('what others could replace is refused', async () => {
  const root = scratch();
  await mkdir(`${root}/open`);
  await cp('/bin/true', `${root}/open/tool`);
  await chmod(`${root}/open`, 0o777);
  await refused(`${root}/open/tool`, /everybody can write to/);
  await chmod(`${root}/open`, 0o1777);
  assert.equal((await resolveBinary(`${root}/open/tool`, [])).path, `${root}/open/tool`);
  await chmod(`${root}/open/tool`, 0o757);
  await refused(`${root}/open/tool`, /everybody can write to/);
});

test('another owner, or a group that may write, is refused', needs('root'), async () => {
  const root = scratch();
  await mkdir(`${root}/dir`);
  await cp('/bin/true', `${root}/dir/tool`);
  await chown(`${root}/dir/tool`, 1500, 0);
  await refused(`${root}/dir/tool`, /could be replaced by uid 1500/);
  await chown(`${root}/dir/tool`, 0, 0);
  await chown(`${root}/dir`, 0, 50);
  await chmod(`${root}/dir`, 0o775);
  await refused(`${root}/dir/tool`, /group 50 can write/);
});

test('what is no program is refused', async () => {
  const root = scratch();
  await refused('git', /not an absolute path/);
  await refused(`${root}/gone`, /does not exist/);
  await refused(root, /not a file/);
  await script(`${root}/plain`, '#!/bin/sh\n', 0o644);
  await refused(`${root}/plain`, /not executable/);
});

test('any change of the file is noticed', async () => {
  const root = scratch();
  const path = await script(`${root}/tool`, '#!/bin/sh\nexit 0\n');
  const binary = await resolveBinary(path, []);
  await checkBinary(binary);
  await writeFile(path, '#!/bin/sh\nexit 1\n');
  await assert.rejects(checkBinary(binary), { code: 'binary_invalid' });
});
