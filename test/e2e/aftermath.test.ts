/** At its end a session says what it changed that runs on the operator's own next command. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { needs } from '../support/real.ts';
import { gitConfig, place } from './place.ts';

void test(
  'up says at its end what it changed that runs by itself, the names escaped',
  needs('bubblewrap', 'git'),
  async (t) => {
    const where = await place(t);
    await where.writeConfig(`${gitConfig}up: { network: none }\n`);
    const change = `mkdir -p "$(printf 'a\\033[31m')"; : >"$(printf 'a\\033[31m')/.envrc"; git config core.editor evil; : >plain`;
    const up = ['up', 'shell', '--runtime', 'bubblewrap', '--', '-c'];
    const changed = await where.wraptool([...up, change]);
    assert.equal(changed.code, 0, changed.stderr);
    const at = changed.stderr.indexOf('changed in the workspace, and runs on your own next command there:');
    assert.notEqual(at, -1, changed.stderr);
    const lines = changed.stderr.slice(at).split('\n').slice(1, 3);
    assert.match(lines[0]!, /\.git\/config \(changed\): git$/);
    assert.match(lines[1]!, /a.*\[31m\/\.envrc \(new\): direnv$/);
    assert.equal(changed.stderr.includes('\u001b[31m'), false);
    const quiet = await where.wraptool([...up, ': >plain']);
    assert.equal(quiet.stderr.includes('runs on your own next command'), false);
  },
);
