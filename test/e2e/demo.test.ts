import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { needs } from '../support/real.ts';

const demo = fileURLToPath(new URL('../../script/demo', import.meta.url));

test(
  'the demo, as a newcomer runs it, shows git_status reach the model and the forced push denied in both runtimes',
  needs('root', 'bubblewrap', 'netns', 'docker', 'npm-registry'),
  () => {
    const { status, stdout, stderr } = spawnSync(demo, {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    assert.equal(status, 0, `${stdout}\n${stderr}`);
    const seen = stdout.split('\n').filter((line) => /^ {3}seen both$|^== /.test(line));
    assert.deepEqual(seen, [
      '== bringing what is missing',
      '== installing Claude Code, confined, before the seal is closed',
      '== closing the seal: network, mount and process namespaces of its own',
      '== 1 of 2: Claude Code in bubblewrap',
      '   seen both',
      '== 2 of 2: the same in a Dev Container',
      '   seen both',
      '== seen: git_status reached the model, the forced push was denied with the exact words',
    ]);
  },
);
