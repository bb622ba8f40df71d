import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { WraptoolError } from '../../src/errors.ts';
import { listDescriptors, loadDescriptor } from '../../src/harness/descriptor.ts';
import { parseDescriptor } from '../../src/harness/parse.ts';

const scratch = await mkdtemp(path.join(os.tmpdir(), 'wraptool-descriptor-'));
after(() => rm(scratch, { recursive: true }));
const env = { HOME: scratch, XDG_CONFIG_HOME: path.join(scratch, 'config') };
const all = (await readdir('harnesses')).map((name) => path.basename(name, '.yaml')).sort();
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
    ['it is empty', '', ['f.yaml:1:1 expected a map, found nothing']],
    ['it is a list', '[]', ['f.yaml:1:1 expected a map, found a list']],
    ['a key is unknown', `${good}titel: x\n`, ['f.yaml:6:1 titel: unknown key (did you mean "title"?)']],
    [
      'a key far down is unknown',
      `${good}run:\n  files:\n    - { where: home, path: a, jsn: {} }\n`,
      [
        'f.yaml:8:7 run.files[0]: expected one of "json", "toml", "yaml" and "text", found a map',
        'f.yaml:8:31 run.files[0].jsn: unknown key (did you mean "json"?)',
      ],
    ],
    [
      'a key is there twice',
      `${good}name: other\n`,
      ['f.yaml:6:1 name: duplicate key "name": it is on line 2 already'],
    ],
    [
      'a key is missing',
      good.replace('title: A probe\n', ''),
      ['f.yaml:1:1 title: expected a string, the key is missing'],
    ],
    [
      'an unquoted word is no boolean',
      good.replace('false', 'off'),
      [
        'f.yaml:5:15 list_changed: expected true or false, found off, which some read as another type: quote it',
      ],
    ],
    [
      'a placeholder is unknown',
      `${good}run: { args: ['%{hom}'] }\n`,
      ['f.yaml:6:15 run.args[0]: expected a known placeholder, not "%{hom}", found "%{hom}"'],
    ],
    [
      'a placeholder is not closed',
      `${good}run: { args: ['%{home'] }\n`,
      ['f.yaml:6:15 run.args[0]: expected a known placeholder, not "%{home", found "%{home"'],
    ],
    [
      'the token would be on a command line',
      `${good}run: { args: ['--token=%{token}'] }\n`,
      [
        'f.yaml:6:15 run.args[0]: expected no "%{token}" in a command line, for it is the token, found "--token=%{token}"',
      ],
    ],
    [
      'a variable of the host would be on a command line',
      `${good}run: { args: ['%{env:KEY}'] }\n`,
      [
        'f.yaml:6:15 run.args[0]: expected no "%{env:KEY}" in a command line, for it is a variable of the host, found "%{env:KEY}"',
      ],
    ],
    [
      'the token would lie in the harness HOME',
      `${good}run: { files: [{ where: home, path: a, json: { b: [{ c: '%{token}' }] } }] }\n`,
      [
        'f.yaml:6:46 run.files[0].json: expected no "%{token}" in a file of the harness HOME, for it is the token, found a map',
      ],
    ],
    [
      'a whole key would lie in the harness HOME',
      `${good}run: { files: [{ where: home, path: a, text: '%{env:KEY}' }] }\n`,
      [
        'f.yaml:6:46 run.files[0].text: expected no "%{env:KEY}" in a file of the harness HOME, for it is a variable of the host, found "%{env:KEY}"',
      ],
    ],
    [
      'a file leads out of the harness HOME',
      `${good}run: { files: [{ where: home, path: ../a, text: x }] }\n`,
      ['f.yaml:6:37 run.files[0].path: expected a relative path without "." and "..", found "../a"'],
    ],
    [
      'a file of the session lies in a folder',
      `${good}run: { files: [{ where: session, path: a/b, text: x }] }\n`,
      ['f.yaml:6:40 run.files[0].path: expected a file name without "/", found "a/b"'],
    ],
    [
      'a version is a range',
      `${good}install: { npm: { package: a, version: ^1.0.0 } }\n`,
      ['f.yaml:6:40 install.npm.version: expected an exact version such as 1.2.3, found "^1.0.0"'],
    ],
    [
      'a package name is an option',
      `${good}install: { npm: { package: --global, version: 1.0.0 } }\n`,
      ['f.yaml:6:28 install.npm.package: expected the name of an npm package, found "--global"'],
    ],
    [
      'the command is looked up on PATH',
      good.replace("'%{harness}/bin/probe'", 'probe'),
      ['f.yaml:4:10 command: expected an absolute path first, found a list'],
    ],
    [
      'several things are wrong at once',
      `version: 2\nname: P\ntitle: A\ncommand: [/bin/p]\nlist_changed: false\n`,
      [
        'f.yaml:1:10 version: invalid input: expected 1, found 2',
        'f.yaml:2:7 name: expected 1 to 32 of a-z, 0-9 and "-", a letter first, found "P"',
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
    hint: `did you mean "claude"? known: ${all.join(', ')}; your own go into ${own}`,
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
  const listed = await listDescriptors(mine);
  assert.deepEqual(
    listed.map(({ name }) => name),
    [...all, 'probe'].sort(),
  );
  assert.deepEqual(
    listed.filter(({ origin }) => origin === 'user').map(({ name, title }) => [name, title]),
    [
      ['probe', 'A probe'],
      ['shell', 'A probe'],
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

test('a descriptor that others could have written is refused', async () => {
  const config = await mkdtemp(path.join(scratch, 'shared-'));
  const file = path.join(config, 'wraptool/harnesses/probe.yaml');
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, good);
  await chmod(file, 0o666);
  await assert.rejects(loadDescriptor('probe', { ...env, XDG_CONFIG_HOME: config }), {
    code: 'unsafe_location',
  });
});

test('what lies at a descriptor’s place and cannot be read is said', async () => {
  const config = await mkdtemp(path.join(scratch, 'folder-'));
  await mkdir(path.join(config, 'wraptool/harnesses/odd.yaml'), { recursive: true });
  await assert.rejects(loadDescriptor('odd', { ...env, XDG_CONFIG_HOME: config }), {
    code: 'harness_invalid',
  });
});
