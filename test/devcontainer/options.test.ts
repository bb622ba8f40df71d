/** The tables of options against the help of the engine's client that is installed here. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { buildShape } from '../../src/devcontainer/build-options.ts';
import { readOptions } from '../../src/devcontainer/options.ts';
import { runShape } from '../../src/devcontainer/run-options.ts';
import { needs } from '../support/real.ts';

const line = /^\s+(?:-(?<short>\w), |\s{2,})--(?<name>[a-z0-9-]+)(?<value> [a-z][\w-]*)? {2}/gm;

for (const [verb, shape, least] of [
  ['run', runShape, 90],
  ['build', buildShape, 25],
] as const)
  test(
    `every option of docker ${verb} is known, with its letter, as a switch or with a value`,
    needs('docker'),
    () => {
      const help = execFileSync('docker', [verb, '--help'], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      const found = [...help.matchAll(line)].map(({ groups }) => groups ?? {});
      assert.ok(found.length >= least, `${found.length} options`);
      for (const { short, name = '', value } of found) {
        assert.deepEqual(
          [name, shape.valued.has(name), shape.switches.has(name)],
          [name, value !== undefined, value === undefined],
        );
        if (short !== undefined) assert.equal(shape.short[short], name);
      }
    },
  );

const rows: readonly [words: readonly string[], parts: readonly (readonly unknown[])[]][] = [
  [
    ['-itv/:/h'],
    [
      ['interactive', 'true', 0, 0],
      ['tty', 'true', 0, 0],
      ['volume', '/:/h', 0, 0],
    ],
  ],
  [
    ['-v=/:/h', '-v', '/:/h'],
    [
      ['volume', '/:/h', 0, 0],
      ['volume', '/:/h', 1, 2],
    ],
  ],
  [['--volume', '--privileged'], [['volume', '--privileged', 0, 1]]],
  [
    ['--privileged', 'false'],
    [
      ['privileged', 'true', 0, 0],
      ['word', 1],
    ],
  ],
  [
    ['-P=false', '-p80:80'],
    [
      ['publish-all', 'false', 0, 0],
      ['publish', '80:80', 1, 1],
    ],
  ],
  [['-e'], [['env', null, 0, 1]]],
  [
    ['-iX', '-t'],
    [
      ['interactive', 'true', 0, 0],
      ['unknown', 0],
      ['tty', 'true', 1, 1],
    ],
  ],
  [['--'], [['word', 0]]],
];
for (const [words, parts] of rows)
  test(JSON.stringify(words), () =>
    assert.deepEqual(
      readOptions(words, runShape).map((part) =>
        part.kind === 'option'
          ? [part.name, part.value, part.index, part.valueIndex]
          : [part.kind, part.index],
      ),
      parts,
    ),
  );
