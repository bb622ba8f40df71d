/** What the checks inside say of a credential that is mounted, however it came there. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { needs } from '../support/real.ts';

const module = new URL('../../src/relay/preflight/credentials.ts', import.meta.url).href;

type Setup = { readonly home: string; readonly workspace: string };

/** Findings of the check in a sandbox of these mounts. */
function faults({ home, workspace }: Setup, mounts: readonly string[]): readonly string[] {
  const expected = JSON.stringify({ hostHome: home, workspace, named: [] });
  const script = `import { checkCredentials } from ${JSON.stringify(module)};
    console.log(JSON.stringify(checkCredentials(${expected}, { HOME: '/home/agent' }).map(({ detail }) => detail)));`;
  const { stdout, stderr } = spawnSync(
    'bwrap',
    [
      '--bind',
      '/',
      '/',
      '--proc',
      '/proc',
      ...mounts,
      '--',
      process.execPath,
      '--input-type=module',
      '-e',
      script,
    ],
    { encoding: 'utf8', env: {} },
  );
  assert.notEqual(stdout, '', stderr);
  return (JSON.parse(stdout) as string[]).filter((detail) => detail.includes('mounted'));
}

async function setup(t: TestContext, parent: string): Promise<Setup & { readonly secrets: string }> {
  const dir = await realpath(await mkdtemp(path.join(parent, 'wraptool-credentials-')));
  t.after(() => rm(dir, { recursive: true, force: true }));
  const [home, secrets] = [path.join(dir, 'home'), path.join(dir, 'secrets')];
  for (const folder of [path.join(home, '.aws'), path.join(home, 'src', 'app'), secrets])
    await mkdir(folder, { recursive: true });
  await writeFile(path.join(secrets, 'credentials'), 'x');
  return { home, secrets, workspace: path.join(home, 'src', 'app') };
}

for (const [what, parent] of [
  ['on a disk', os.tmpdir()],
  ['in memory', '/dev/shm'],
] as const) {
  test(`a folder of the host that lies ${what}, in the place of ~/.aws`, needs('bubblewrap'), async (t) => {
    const at = await setup(t, parent);
    const found = faults(at, ['--bind', at.secrets, path.join(at.home, '.aws')]);
    assert.deepEqual(found, [`${at.home}/.aws is mounted from the host`]);
  });

  test(`a folder ${what} as the workspace: the credential that it is`, needs('bubblewrap'), async (t) => {
    const at = { ...(await setup(t, parent)), workspace: '' };
    const place = path.join(at.home, '.aws');
    const found = faults({ ...at, workspace: place }, ['--bind', place, place]);
    assert.deepEqual(found, [`${place} is mounted from the host`]);
  });
}

test(
  'a workspace beside them, and memory of its own in their place, are fine',
  needs('bubblewrap'),
  async (t) => {
    const at = await setup(t, os.tmpdir());
    const mounts = ['--bind', at.workspace, at.workspace, '--tmpfs', path.join(at.home, '.aws')];
    assert.deepEqual(faults(at, mounts), []);
  },
);
