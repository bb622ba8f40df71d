/** Which images are taken for leftovers, of those that a real engine has. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { unusedImages } from '../../../src/up/runtime/devcontainer-image.ts';
import { resolveEndpoint } from '../../../src/up/runtime/docker-endpoint.ts';
import { Engine } from '../../../src/up/runtime/docker.ts';
import { needs } from '../../support/real.ts';

test(
  'an image that the operator built on one of ours, or named anew, is not a leftover',
  needs('docker'),
  async (t) => {
    const tag = `${process.pid}-${Date.now()}`;
    const [ours, renamed, theirs] = [`wraptool-devcontainer:${tag}`, `kept:${tag}`, `on-top:${tag}`];
    const docker = (args: readonly string[], input = ''): void => {
      const made = spawnSync('docker', args, { input, encoding: 'utf8' });
      assert.equal(made.status, 0, made.stderr);
    };
    t.after(() => spawnSync('docker', ['rmi', '-f', theirs, renamed, ours]));
    docker(
      ['build', '-q', '-t', ours, '-'],
      'FROM scratch\nLABEL wraptool.image=devcontainer wraptool.recipe=old\n',
    );
    docker(['tag', ours, renamed]);
    docker(['build', '-q', '-t', theirs, '-'], `FROM ${ours}\nLABEL mine=yes\n`);
    const endpoint = await resolveEndpoint(process.env);
    assert.ok(endpoint.ok);
    const found = await unusedImages(await Engine.connect(endpoint.socketPath), true);
    assert.deepEqual(
      found.map(({ name }) => name).filter((name) => name.endsWith(tag)),
      [ours],
    );
  },
);
