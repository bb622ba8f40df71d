/** Two state folders on one engine, each with a session of one name: what one reclaims is its own. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cp, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'node:test';
import { needs } from '../support/real.ts';
import { dirOf, live, readyPlace } from './session.ts';

type State = { readonly id: string; readonly facts: { readonly container: string } };

void test(
  'a dead session of the same name leaves the other one’s container alone',
  needs('docker'),
  async (t) => {
    const name = `same-${process.pid}`;
    const { where, dir, end } = await live(t, 'devcontainer', { name });
    const state = JSON.parse(await readFile(path.join(dir, 'session.json'), 'utf8')) as State;
    const other = await readyPlace(t, 'devcontainer');
    // As it is left by a supervisor that was killed when the engine had refused it the name.
    const left = dirOf(other, name);
    await cp(path.join(dir, 'session.json'), path.join(left, 'session.json'));
    const dead = {
      ...state,
      id: '0123456789abcdef',
      supervisor: { pid: 1, start: '1' },
      gateway: null,
      facts: {},
    };
    await writeFile(path.join(left, 'session.json'), JSON.stringify(dead));
    for (const args of [['ps'], ['prune'], ['down', name]]) {
      await other.wraptool(args);
      const found = spawnSync(
        'docker',
        ['inspect', '--format', '{{.State.Running}}', state.facts.container],
        {
          encoding: 'utf8',
        },
      );
      assert.equal(found.stdout, 'true\n', args.join(' '));
    }
    assert.match((await other.wraptool(['ps'])).stdout, /^(?!.*same-)/);
    const { stdout } = await where.wraptool(['exec', name, '--', 'echo', 'goes on']);
    assert.equal(stdout, 'goes on\n');
    await end();
  },
);
