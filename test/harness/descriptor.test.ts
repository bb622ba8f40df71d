import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { WraptoolError } from '../../src/errors.ts';
import { listDescriptors, loadDescriptor } from '../../src/harness/descriptor.ts';
import { parseDescriptor } from '../../src/harness/parse.ts';

const scratch = await mkdtemp(path.join(os.tmpdir(), 'wraptool-descriptor-'));
after(() => rm(scratch, { recursive: true }));
const env = { HOME: scratch, XDG_CONFIG_HOME: path.join(scratch, 'config') };
const own = path.join(scratch, 'config/wraptool/harnesses');
await mkdir(own, { recursive: true });

const good = `version: 1
name: probe
title: A probe
command: ['%{harness}/bin/probe']
list_changed: false
`;

function refusal(text: string): { code: string; problems: readonly string[] } {
  try {
    parseDescriptor(text, 'f.yaml');
  } catch (error) {
    assert.ok(error instanceof WraptoolError);
    return { code: error.code, problems: error.problems };
  }
  assert.fail('it was accepted');
}

describe('a descriptor is refused, with the place and what was expected, when', () => {
  const cases: [name: string, text: string, problems: string[]][] = [
    ['it is empty', '', ['f.yaml:1:1 descriptor: expected object, received null']],
    ['it is a list', '[]', ['f.yaml:1:1 descriptor: expected object, received array']],
    ['a key is unknown', `${good}titel: x\n`, ['f.yaml:6:1 titel: unknown key (did you mean "title"?)']],
    [
      'a key far down is unknown',
      `${good}run:\n  files:\n    - { where: home, path: a, jsn: {} }\n`,
      [
        'f.yaml:8:7 run.files[0]: expected either "json" or "text"',
        'f.yaml:8:31 run.files[0].jsn: unknown key (did you mean "json"?)',
      ],
    ],
    ['a key is there twice', `${good}name: other\n`, ['f.yaml:6:1 Map keys must be unique']],
    ['a key is missing', good.replace('title: A probe\n', ''), ['f.yaml:1:1 title: is missing']],
    [
      'an unquoted word is no boolean',
      good.replace('false', 'off'),
      ['f.yaml:5:1 list_changed: expected boolean, received string'],
    ],
    [
      'a placeholder is unknown',
      `${good}run: { args: ['%{hom}'] }\n`,
      ['f.yaml:6:15 run.args[0]: unknown placeholder "%{hom}"'],
    ],
    [
      'a placeholder is not closed',
      `${good}run: { args: ['%{home'] }\n`,
      ['f.yaml:6:15 run.args[0]: unknown placeholder "%{home"'],
    ],
    [
      'the token would be on a command line',
      `${good}run: { args: ['--token=%{token}'] }\n`,
      ['f.yaml:6:15 run.args[0]: "%{token}" is the token and may not stand in a command line'],
    ],
    [
      'a variable of the host would be on a command line',
      `${good}run: { args: ['%{env:KEY}'] }\n`,
      ['f.yaml:6:15 run.args[0]: "%{env:KEY}" is a variable of the host and may not stand in a command line'],
    ],
    [
      'the token would lie in the harness HOME',
      `${good}run: { files: [{ where: home, path: a, json: { b: [{ c: '%{token}' }] } }] }\n`,
      [
        'f.yaml:6:40 run.files[0].json: "%{token}" is the token and may not stand in a file of the harness HOME',
      ],
    ],
    [
      'a whole key would lie in the harness HOME',
      `${good}run: { files: [{ where: home, path: a, text: '%{env:KEY}' }] }\n`,
      [
        'f.yaml:6:40 run.files[0].text: "%{env:KEY}" is a variable of the host and may not stand in a file of the harness HOME',
      ],
    ],
    [
      'a file leads out of the harness HOME',
      `${good}run: { files: [{ where: home, path: ../a, text: x }] }\n`,
      ['f.yaml:6:31 run.files[0].path: expected a relative path without "." and ".."'],
    ],
    [
      'a file of the session lies in a folder',
      `${good}run: { files: [{ where: session, path: a/b, text: x }] }\n`,
      ['f.yaml:6:34 run.files[0].path: expected a file name without "/"'],
    ],
    [
      'a version is a range',
      `${good}install: { npm: { package: a, version: ^1.0.0 } }\n`,
      ['f.yaml:6:31 install.npm.version: expected an exact version such as 1.2.3'],
    ],
    [
      'a package name is an option',
      `${good}install: { npm: { package: --global, version: 1.0.0 } }\n`,
      ['f.yaml:6:19 install.npm.package: expected the name of an npm package'],
    ],
    [
      'the command is looked up on PATH',
      good.replace("'%{harness}/bin/probe'", 'probe'),
      ['f.yaml:4:1 command: expected an absolute path first'],
    ],
    [
      'it has an alias',
      `${good}run: { args: [&a x, *a] }\n`,
      ['f.yaml:6:21 aliases are not allowed in a descriptor'],
    ],
    [
      'several things are wrong at once',
      `version: 2\nname: P\ntitle: A\ncommand: [/bin/p]\nlist_changed: false\n`,
      [
        'f.yaml:1:1 version: expected 1',
        'f.yaml:2:1 name: expected 1 to 32 of a-z, 0-9 and "-", a letter first',
      ],
    ],
  ];
  for (const [name, text, problems] of cases)
    test(name, () => assert.deepEqual(refusal(text), { code: 'harness_invalid', problems }));
});

test('what a descriptor leaves out is filled with nothing', () => {
  const nothing = { args: [], env: {}, files: [] };
  assert.deepEqual(parseDescriptor(good, 'f.yaml'), {
    version: 1,
    name: 'probe',
    title: 'A probe',
    command: ['%{harness}/bin/probe'],
    list_changed: false,
    known_env: {},
    run: nothing,
    when_env: {},
    yolo: nothing,
    one_shot: [],
  });
});

test('an unknown harness is told with the near one, the known ones and where new ones go', async () => {
  await assert.rejects(loadDescriptor('cluade', env), {
    code: 'harness_unknown',
    message: 'there is no harness "cluade"',
    hint: `did you mean "claude"? known: claude, shell; your own go into ${own}`,
  });
});

for (const name of ['../../etc/passwd', '.', '', 'claude.yaml', '__proto__'])
  test(`"${name}" names no harness`, () =>
    assert.rejects(loadDescriptor(name, env), { code: 'harness_unknown' }));

test('the operator’s own descriptor goes before the built-in one of the same name, and is listed', async () => {
  const config = await mkdtemp(path.join(scratch, 'own-'));
  const folder = path.join(config, 'wraptool/harnesses');
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, 'shell.yaml'), good.replace('name: probe', 'name: shell'));
  await writeFile(path.join(folder, 'probe.yaml'), good);
  await writeFile(path.join(folder, 'notes.txt'), 'not a descriptor');
  const mine = { ...env, XDG_CONFIG_HOME: config };
  const all = await listDescriptors(mine);
  assert.deepEqual(
    all.map(({ name, origin, title }) => [name, origin, title]),
    [
      ['claude', 'built-in', 'Claude Code'],
      ['probe', 'user', 'A probe'],
      ['shell', 'user', 'A probe'],
    ],
  );
  assert.equal((await loadDescriptor('probe', mine)).file, path.join(folder, 'probe.yaml'));
});

test('a descriptor whose name is not its file’s is refused', async () => {
  const config = await mkdtemp(path.join(scratch, 'named-'));
  const file = path.join(config, 'wraptool/harnesses/other.yaml');
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, good);
  await assert.rejects(loadDescriptor('other', { ...env, XDG_CONFIG_HOME: config }), {
    code: 'harness_invalid',
    message: `the descriptor "${file}" names itself "probe"`,
    hint: 'rename it to probe.yaml, or write "name: other"',
  });
});

test('what lies at a descriptor’s place and cannot be read is said', async () => {
  const config = await mkdtemp(path.join(scratch, 'folder-'));
  await mkdir(path.join(config, 'wraptool/harnesses/odd.yaml'), { recursive: true });
  await assert.rejects(loadDescriptor('odd', { ...env, XDG_CONFIG_HOME: config }), {
    code: 'harness_invalid',
  });
});
