/** What npm is asked before it installs a harness. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test from 'node:test';
import { findNpm, registrySettings } from '../../src/harness/npm.ts';
import { needs } from '../support/real.ts';

void test(
  'the settings are those that the operator’s own npm has, the global ones among them, whatever Node runs wraptool',
  needs('npm-registry'),
  async (t) => {
    const home = await mkdtemp(path.join(tmpdir(), 'wraptool-npm-'));
    t.after(() => rm(home, { recursive: true }));
    const own = path.join(home, '.npmrc');
    await writeFile(own, '@acme:registry=https://npm.example.org/\n');
    // Not the Node of these tests, whose folder also has no npm.
    const folders = (process.env['PATH'] ?? '')
      .split(':')
      .filter((folder) => !folder.includes('node_modules'));
    const env = { PATH: folders.join(':'), HOME: home };
    const said = JSON.parse(
      execFileSync('npm', ['config', 'list', '--json'], { env, cwd: '/', encoding: 'utf8' }),
    ) as Record<string, string | null>;
    const found = await registrySettings(await findNpm(env), env);
    assert.deepEqual(
      [found.url, found.cafile ?? null, found.env['npm_config_@acme:registry']],
      [said['registry'], said['cafile'] ?? null, 'https://npm.example.org/'],
    );
  },
);
