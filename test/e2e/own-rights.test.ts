/** Rights that an approval named are there on a real engine, and the session is checked all the same. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import test, { before } from 'node:test';
import { ensureTestImage, testImage } from '../support/image.ts';
import { needs } from '../support/real.ts';
import { definition, rig } from './own-rig.ts';

const docker = needs('docker');
before(() => {
  if (docker.skip === undefined) ensureTestImage();
});
void test(
  'mounts of the host, in memory and as volumes; a system call filter of the approved copy',
  docker,
  async (t) => {
    const at = await rig(t, {
      [definition]: JSON.stringify({
        image: testImage,
        mounts: [
          { type: 'bind', source: '${localEnv:HOME}/given', target: '/given' },
          'type=tmpfs,target=/scratch',
          'type=bind,source=${localWorkspaceFolder}/part,target=/part',
        ],
        runArgs: ['-v', '${localWorkspaceFolder}/..:/up:ro', '--tmpfs=/memory', '-v', '/anonymous'],
        securityOpt: ['seccomp=.devcontainer/filter.json'],
        appPort: 0,
      }),
      'part/one': 'of the workspace\n',
      '.devcontainer/filter.json': JSON.stringify({
        defaultAction: 'SCMP_ACT_ALLOW',
        syscalls: [{ names: ['sethostname', 'symlink', 'symlinkat'], action: 'SCMP_ACT_ERRNO' }],
      }),
    });
    await writeFile(path.join(at.home, 'given'), 'of the host\n');
    assert.equal((await at.wraptool(['devcontainer', 'approve', '--yes'])).code, 0);
    const { code, stdout, stderr } = await at.up(
      'cat /given /part/one; ls /up; for at in /scratch /memory /anonymous; do grep -c " $at " /proc/self/mounts; done; ln -s a b 2>/dev/null || echo filtered',
    );
    assert.equal(code, 0, stderr);
    assert.deepEqual(stdout.trimEnd().split('\n'), [
      'of the host',
      'of the workspace',
      'app',
      '1',
      '1',
      '1',
      'filtered',
    ]);
  },
);

void test(
  'privileged, with network and memory of the host and a local feature; the session still has its own user',
  docker,
  async (t) => {
    const at = await rig(t, {
      [definition]: JSON.stringify({
        image: testImage,
        privileged: true,
        runArgs: ['--network', 'host', '--ipc=host'],
        features: { './f': { word: `given-${process.pid}` } },
      }),
      '.devcontainer/f/devcontainer-feature.json': JSON.stringify({
        id: 'f',
        version: '1.0.0',
        options: { word: { type: 'string', default: '' } },
        containerEnv: { OF_FEATURE: 'yes' },
        mounts: ['type=volume,target=/of-feature'],
      }),
      '.devcontainer/f/install.sh': '#!/bin/sh\necho "$WORD" > /installed\n',
    });
    assert.equal((await at.wraptool(['devcontainer', 'approve', '--yes'])).code, 0);
    const { code, stdout, stderr } = await at.up(
      `cat /installed; echo $OF_FEATURE; grep -c " /of-feature " /proc/self/mounts; id -u`,
    );
    assert.equal(code, 0, stderr);
    assert.deepEqual(stdout.trimEnd().split('\n'), [
      `given-${process.pid}`,
      'yes',
      '1',
      String(process.getuid?.()),
    ]);
  },
);
