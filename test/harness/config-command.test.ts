import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { jsonFile, policy, runs, tomlFile } from '../edit/generate.ts';
import { startResident, type Resident, type Said } from '../support/resident.ts';
import { main } from '../support/main.ts';

const url = 'http://127.0.0.1:7801/mcp';
const scratch = mkdtempSync(path.join(os.tmpdir(), 'wraptool-config-'));
const residents: Resident[] = [];
after(async () => {
  for (const one of residents) await one.end();
  rmSync(scratch, { recursive: true, force: true });
});

type Place = {
  readonly home: string;
  readonly env: Record<string, string>;
  readonly cli: Resident;
  /** Its standard output as JSON; the exit code must be 0. */
  facts(...argv: string[]): Promise<Record<string, unknown>>;
  file(name: string): string;
};

let number = 0;
function place(more: Readonly<Record<string, string>> = {}): Place {
  const home = path.join(scratch, String((number += 1)));
  mkdirSync(home);
  const env = { HOME: home, PATH: '/usr/bin:/bin', ...more };
  const cli = startResident(env);
  residents.push(cli);
  return {
    home,
    env,
    cli,
    file: (name) => path.join(home, name),
    facts: async (...argv) => {
      const said = await cli.wraptool(...argv, '--json');
      assert.equal(said.code, 0, said.stdout + said.stderr);
      return JSON.parse(said.stdout) as Record<string, unknown>;
    },
  };
}

function own({ home }: Place, name: string, config: string): void {
  const folder = path.join(home, '.config/wraptool/harnesses');
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    path.join(folder, `${name}.yaml`),
    `version: 1\nname: ${name}\ntitle: ${name}\nlist_changed: false\nconfig: ${config}\n`,
  );
}

const error = (said: Said): { code: string; message: string; hint: string } =>
  (JSON.parse(said.stdout) as { error: { code: string; message: string; hint: string } }).error;

const entry = (file: string): unknown =>
  (JSON.parse(readFileSync(file, 'utf8')) as { mcpServers: { wraptool: unknown } }).mcpServers.wraptool;

describe('harness config writes the client’s own config', () => {
  test('with a receipt, and restore gives it back', async () => {
    const where = place();
    const file = where.file('.claude.json');
    writeFileSync(file, '{ "numStartups": 3 }\n', { mode: 0o640 });
    const receipt = await where.facts('harness', 'config', 'claude', '--url', url);
    const { backup, receipt: kept, ...rest } = receipt as { backup: string; receipt: string };
    assert.deepEqual(rest, {
      harness: 'claude',
      file,
      format: 'json',
      path: ['mcpServers', 'wraptool'],
      entry: { type: 'http', url, headers: { Authorization: 'Bearer ${WRAPTOOL_TOKEN}' } },
      changed: true,
      dry_run: false,
      diff: null,
    });
    const state = where.file('.local/state/wraptool/clients/claude');
    assert.deepEqual([path.dirname(backup), path.dirname(kept)], [state, state]);
    assert.equal(readFileSync(backup, 'utf8'), '{ "numStartups": 3 }\n');
    assert.deepEqual(
      [backup, kept].map((one) => statSync(one).mode & 0o777),
      [0o600, 0o600],
    );
    assert.equal(statSync(state).mode & 0o777, 0o700);
    assert.equal(statSync(file).mode & 0o777, 0o640);
    assert.equal((await where.facts('harness', 'config', 'claude', '--url', url))['changed'], false);
    assert.deepEqual(await where.facts('harness', 'restore', 'claude'), {
      harness: 'claude',
      file,
      done: 'restored',
      dry_run: false,
    });
    assert.equal(readFileSync(file, 'utf8'), '{ "numStartups": 3 }\n');
    assert.deepEqual(readdirSync(state), []);
  });

  test('at the place that its variable names, else at its usual one; the name that is there goes first', async () => {
    const where = place({ CLIENT_HOME: path.join(scratch, 'elsewhere'), RELATIVE: 'a/b' });
    const section = (folders: string): string =>
      `{ folders: ${folders}, names: [a.json, a.jsonc], format: jsonc, path: [mcpServers], http: { url: '%{url}' } }`;
    const written = async (name: string): Promise<unknown> =>
      (await where.facts('harness', 'config', name, '--url', url))['file'];
    own(where, 'one', section('[$CLIENT_HOME/in, ~/.one]'));
    assert.equal(await written('one'), path.join(scratch, 'elsewhere/in/a.json'));
    own(where, 'two', section('[$UNSET, $RELATIVE, ~/.two]'));
    mkdirSync(where.file('.two'));
    writeFileSync(where.file('.two/a.jsonc'), '// mine\n');
    assert.equal(await written('two'), where.file('.two/a.jsonc'));
    assert.ok(readFileSync(where.file('.two/a.jsonc'), 'utf8').startsWith('// mine\n{'));
  });

  test('through a symbolic link, which stays', async () => {
    const where = place();
    mkdirSync(where.file('dotfiles'));
    writeFileSync(where.file('dotfiles/claude.json'), '{}\n');
    symlinkSync('dotfiles/claude.json', where.file('.claude.json'));
    await where.facts('harness', 'config', 'claude', '--url', url);
    assert.ok(lstatSync(where.file('.claude.json')).isSymbolicLink());
    assert.notEqual(readFileSync(where.file('dotfiles/claude.json'), 'utf8'), '{}\n');
    await where.facts('harness', 'restore', 'claude');
    assert.ok(lstatSync(where.file('.claude.json')).isSymbolicLink());
    assert.equal(readFileSync(where.file('dotfiles/claude.json'), 'utf8'), '{}\n');
  });

  test('new, for its owner alone, whatever the umask', async () => {
    const where = place();
    const script = `umask 0; exec "$0" "$@"`;
    const child = spawn(
      'sh',
      ['-c', script, process.execPath, main, 'harness', 'config', 'claude', '--url', url],
      {
        env: where.env,
      },
    );
    assert.deepEqual(await once(child, 'exit'), [0, null]);
    assert.equal(statSync(where.file('.claude.json')).mode & 0o777, 0o600);
    assert.equal((await where.facts('harness', 'restore', 'claude'))['done'], 'file-removed');
    assert.equal(existsSync(where.file('.claude.json')), false);
  });

  test('for each transport that the client has', async () => {
    const where = place();
    const entryOf = async (...argv: string[]): Promise<Record<string, unknown>> =>
      (await where.facts('harness', 'config', 'claude', '--print', ...argv))['entry'] as Record<
        string,
        unknown
      >;
    assert.equal((await entryOf('--url', 'http://h/sse', '--transport', 'sse'))['type'], 'sse');
    const stdio = await entryOf('--url', 'unix:/run/w.sock', '--transport', 'stdio');
    assert.deepEqual(stdio, {
      type: 'stdio',
      command: process.execPath,
      args: [fileURLToPath(new URL('../../src/relay/main.ts', import.meta.url))],
      env: { WRAPTOOL_URL: 'unix:/run/w.sock', WRAPTOOL_TOKEN: '${WRAPTOOL_TOKEN}' },
    });
    own(where, 'plain', "{ folders: ['~'], names: [p], format: json, path: [s], http: { url: '%{url}' } }");
    for (const [argv, message] of [
      [['plain', '--transport', 'sse', '--url', url], '"plain" has no transport "sse"'],
      [['plain', '--transport', 'carrier-pigeon', '--url', url], '"carrier-pigeon" is no transport'],
      [['plain', '--url', 'ftp://h'], '"ftp://h" is no address of a gateway'],
      [['plain', '--url', 'unix:/run/w.sock'], '"unix:/run/w.sock" is no address of a gateway'],
    ] as const) {
      const said = await where.cli.wraptool('harness', 'config', ...argv, '--json');
      assert.deepEqual([said.code, error(said).message], [2, message]);
    }
  });

  test('with the address of the gateway’s own config where none is given', async () => {
    const where = place();
    const said = await where.cli.wraptool('harness', 'config', 'claude', '--json');
    assert.deepEqual([said.code, error(said).message], [2, 'nothing says at which address the gateway is']);
    assert.equal(existsSync(where.file('.claude.json')), false);
    mkdirSync(where.file('.config/wraptool'), { recursive: true });
    const config = where.file('.config/wraptool/config.yaml');
    writeFileSync(config, "version: 1\nmcp: { listen: '127.0.0.1:7900', socket: /run/w.sock }\n", {
      mode: 0o600,
    });
    const address = async (transport: string): Promise<unknown> => {
      const { entry: made } = await where.facts(
        'harness',
        'config',
        'claude',
        '--print',
        '--transport',
        transport,
      );
      const { url: remote, env } = made as { url?: string; env?: Record<string, string> };
      return remote ?? env?.['WRAPTOOL_URL'];
    };
    assert.equal(await address('http'), 'http://127.0.0.1:7900/mcp');
    assert.equal(await address('sse'), 'http://127.0.0.1:7900/sse');
    assert.equal(await address('stdio'), 'unix:/run/w.sock');
  });
});

test('an entry may say where it goes, and is found again', async () => {
  const where = place();
  const file = where.file('.claude.json');
  const given = JSON.stringify({ path: ['projects', '/src'], key: 'mine', value: { a: 1 } });
  const receipt = await where.facts('harness', 'config', 'claude', '--entry', given);
  assert.deepEqual([receipt['path'], receipt['entry']], [['projects', '/src', 'mine'], { a: 1 }]);
  assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), { projects: { '/src': { mine: { a: 1 } } } });
  assert.equal((await where.facts('harness', 'restore', 'claude', '--file', file))['done'], 'file-removed');
});

describe('harness config leaves alone', () => {
  test('a file that does not parse, and names line and column', async () => {
    const where = place();
    const file = where.file('.claude.json');
    writeFileSync(file, '{\n  "a": 1,,\n}\n');
    const said = await where.cli.wraptool('harness', 'config', 'claude', '--url', url);
    assert.equal(said.code, 3);
    assert.ok(said.stderr.startsWith(`error: ${file}:2:10: `), said.stderr);
    assert.equal(readFileSync(file, 'utf8'), '{\n  "a": 1,,\n}\n');
    assert.deepEqual(readdirSync(where.file('.local/state/wraptool/clients/claude')), []);
  });

  test('everything, with --dry-run and with --print', async () => {
    const where = place();
    const file = where.file('.claude.json');
    writeFileSync(file, '{}\n');
    const dry = await where.facts('harness', 'config', 'claude', '--url', url, '--dry-run');
    assert.deepEqual([dry['changed'], dry['dry_run'], dry['backup']], [true, true, null]);
    assert.match(String(dry['diff']), /^\+ {4}"wraptool": \{$/m);
    const printed = await where.cli.wraptool('harness', 'config', 'claude', '--url', url, '--print');
    assert.equal(
      printed.stdout,
      `${JSON.stringify({ mcpServers: { wraptool: { type: 'http', url, headers: { Authorization: 'Bearer ${WRAPTOOL_TOKEN}' } } } }, null, 2)}\n`,
    );
    assert.equal(readFileSync(file, 'utf8'), '{}\n');
    assert.deepEqual(
      readdirSync(where.home).filter((name) => name !== '.cache'),
      ['.claude.json'],
    );
    await where.facts('harness', 'config', 'claude', '--url', url);
    const written = readFileSync(file, 'utf8');
    assert.equal((await where.facts('harness', 'restore', 'claude', '--dry-run'))['done'], 'restored');
    assert.equal(readFileSync(file, 'utf8'), written);
  });

  for (const [what, argv, message] of [
    ['what is no JSON', ['--entry', '{'], '--entry is not JSON'],
    ['what is no object', ['--entry', '[]'], '--entry is not a JSON object'],
    ['an entry and an address', ['--entry', '{}', '--url', url], '--url and --entry cannot go together'],
  ] as const)
    test(`the file for ${what}`, async () => {
      const where = place();
      const said = await where.cli.wraptool('harness', 'config', 'claude', ...argv, '--json');
      assert.deepEqual([said.code, error(said).code, error(said).message], [2, 'usage', message]);
      assert.equal(existsSync(where.file('.claude.json')), false);
    });

  for (const argv of [[], ['--dry-run']])
    test(`what is no file, at once, ${argv.join() || 'and writes nothing'}`, async () => {
      const where = place();
      execFileSync('mkfifo', [where.file('fifo')]);
      for (const file of ['fifo', '.']) {
        const words = [
          'harness',
          'config',
          'claude',
          '--file',
          where.file(file),
          '--entry',
          '{}',
          '--json',
          ...argv,
        ];
        const said = await where.cli.wraptool(...words);
        assert.deepEqual([said.code, error(said).code], [1, 'edit_failed'], said.stdout);
      }
    });

  test('clients of which no config is known', async () => {
    const said = await place().cli.wraptool('harness', 'config', 'shell', '--url', url, '--json');
    assert.deepEqual(
      [said.code, error(said).message],
      [2, 'the descriptor of "shell" does not say where its config is'],
    );
  });
});

describe('a file that an agent could have put a link to, or could change meanwhile, is refused:', () => {
  const cases: [name: string, prepare: (where: Place, workspace: string) => string][] = [
    ['it is in a workspace', (_, workspace) => path.join(workspace, '.vscode/mcp.json')],
    [
      'its folder is a link out of one',
      (where, workspace) => {
        mkdirSync(where.file('Code'));
        symlinkSync(where.file('Code'), path.join(workspace, '.vscode'));
        return path.join(workspace, '.vscode/mcp.json');
      },
    ],
    [
      'it is a link out of one, through another link',
      (where, workspace) => {
        symlinkSync(where.file('victim.json'), path.join(workspace, 'mcp.json'));
        symlinkSync(path.join(workspace, 'mcp.json'), where.file('mine.json'));
        return where.file('mine.json');
      },
    ],
    ['it is in a harness HOME', (where) => where.file('.local/state/wraptool/homes/claude/abc/.claude.json')],
  ];
  for (const [name, prepare] of cases)
    test(name, async () => {
      const where = place();
      const workspace = where.file('app');
      mkdirSync(workspace);
      const state = where.file('.local/state/wraptool');
      mkdirSync(path.join(state, 'workspaces'), { recursive: true });
      mkdirSync(path.join(state, 'homes/claude/abc'), { recursive: true });
      writeFileSync(path.join(state, 'workspaces/0123456789ab.json'), JSON.stringify({ workspace }));
      const file = prepare(where, workspace);
      for (const argv of [
        ['config', 'vscode', '--url', url],
        ['restore', 'vscode'],
      ]) {
        const said = await where.cli.wraptool('harness', ...argv, '--file', file, '--json');
        assert.deepEqual([said.code, error(said).code], [2, 'unsafe_location'], said.stdout);
      }
      assert.equal(existsSync(file), false);
      assert.equal(existsSync(where.file('victim.json')), false);
      assert.equal(
        (await where.cli.wraptool('harness', 'config', 'vscode', '--url', url, '--file', file, '--print'))
          .code,
        0,
      );
    });
});

describe('the token', () => {
  const token = 'a-token-of-the-operators-own';
  test('is never written where the client reads variables', async () => {
    const where = place({ WRAPTOOL_TOKEN: token });
    for (const name of ['claude', 'windsurf', 'vscode'])
      await where.facts('harness', 'config', name, '--url', url);
    const all = readdirSync(where.home, { recursive: true, withFileTypes: true })
      .filter((one) => one.isFile() && !one.parentPath.includes('.cache'))
      .map((one) => path.join(one.parentPath, one.name));
    assert.ok(all.length >= 6);
    for (const file of all) assert.ok(!readFileSync(file, 'utf8').includes(token), file);
  });

  test('is written for its owner alone where the client can read none, and shown nowhere', async () => {
    const where = place({ WRAPTOOL_TOKEN: token });
    const file = where.file('.config/zed/settings.json');
    const argv = ['harness', 'config', 'zed', '--url', url];
    const said = [
      await where.cli.wraptool(...argv, '--print'),
      await where.cli.wraptool(...argv, '--dry-run'),
      await where.cli.wraptool(...argv, '--json'),
      await where.cli.wraptool(...argv),
    ];
    for (const one of said) assert.ok(!`${one.stdout}${one.stderr}`.includes(token), one.stdout);
    assert.ok(readFileSync(file, 'utf8').includes(`Bearer ${token}`));
    assert.equal(statSync(file).mode & 0o777, 0o600);
  });

  test('is not written into a file that others can read, nor made up where there is none', async () => {
    const where = place({ WRAPTOOL_TOKEN: token });
    mkdirSync(where.file('.config/zed'), { recursive: true });
    const file = where.file('.config/zed/settings.json');
    writeFileSync(file, '{}\n', { mode: 0o644 });
    const said = await where.cli.wraptool('harness', 'config', 'zed', '--url', url, '--json');
    assert.deepEqual([said.code, error(said).code], [1, 'edit_failed']);
    assert.match(error(said).hint, /chmod 600/);
    assert.equal(readFileSync(file, 'utf8'), '{}\n');
    chmodSync(file, 0o600);
    await where.facts('harness', 'config', 'zed', '--url', url);
    const without = await place().cli.wraptool('harness', 'config', 'zed', '--url', url, '--json');
    assert.deepEqual([without.code, error(without).code], [2, 'usage']);
  });
});

describe('harness restore', () => {
  test('takes only our entry out of a file that changed since, and says so', async () => {
    const where = place();
    const file = where.file('.claude.json');
    writeFileSync(file, '{\n  "a": 1\n}\n');
    await where.facts('harness', 'config', 'claude', '--url', url);
    writeFileSync(file, readFileSync(file, 'utf8').replace('"a": 1', '"a": 2'));
    const said = await where.cli.wraptool('harness', 'restore', 'claude');
    assert.match(said.stderr, /was changed since: only the entry of wraptool was taken out/);
    assert.equal(readFileSync(file, 'utf8'), '{\n  "a": 2\n}\n');
  });

  test('finds the one other file by itself, and asks which of several is meant', async () => {
    const where = place();
    const files = ['one.json', 'two.json'].map((name) => where.file(name));
    const add = (file: string | undefined): Promise<unknown> =>
      where.facts('harness', 'config', 'claude', '--file', file ?? '', '--entry', '{"a":1}');
    await add(files[0]);
    assert.equal((await where.facts('harness', 'restore', 'claude'))['file'], files[0]);
    for (const file of files) await add(file);
    const said = await where.cli.wraptool('harness', 'restore', 'claude', '--json');
    assert.equal(said.code, 2);
    assert.match(error(said).hint, /--file/);
    assert.equal(
      (await where.facts('harness', 'restore', 'claude', '--file', files[1] ?? ''))['done'],
      'file-removed',
    );
  });

  test('has nothing to do where nothing was written', async () => {
    assert.equal((await place().facts('harness', 'restore', 'claude'))['done'], 'nothing');
  });
});

test('of any document: add, add again, restore is the identity', async () => {
  const where = place();
  const section = (format: string, more = ''): string =>
    `{ folders: ['~'], names: [x], format: ${format}, path: [mcp], http: { url: x }${more} }`;
  for (const comments of [true, false])
    for (const trailing of [true, false])
      own(
        where,
        `json-${Number(comments)}${Number(trailing)}`,
        section('json', `, comments: ${String(comments)}, trailing_commas: ${String(trailing)}`),
      );
  own(where, 'toml', section('toml'));
  own(where, 'yaml', section('yaml'));
  const document = fc.oneof(
    jsonFile.map(
      ({ text, grammar: { comments, trailingCommas } }) =>
        [`json-${Number(comments)}${Number(trailingCommas)}`, text] as const,
    ),
    tomlFile.map((text) => ['toml', text] as const),
    policy.map(({ text }) => ['yaml', text] as const),
  );
  const file = where.file('document');
  let accepted = 0;
  await fc.assert(
    fc.asyncProperty(document, async ([client, text]) => {
      writeFileSync(file, text);
      const add = (): Promise<Said> =>
        where.cli.wraptool(
          'harness',
          'config',
          client,
          '--file',
          file,
          '--entry',
          '{"url":"u","n":[1,"on"]}',
          '--json',
        );
      const first = await add();
      if (first.code === 3) {
        assert.ok(['wrong_type', 'duplicate_key', 'shared_value'].includes(error(first).code), first.stdout);
        assert.equal(readFileSync(file, 'utf8'), text);
        return;
      }
      accepted += 1;
      const once_ = readFileSync(file, 'utf8');
      assert.equal((JSON.parse((await add()).stdout) as { changed: boolean }).changed, false);
      assert.equal(readFileSync(file, 'utf8'), once_);
      await where.facts('harness', 'restore', client, '--file', file);
      assert.equal(readFileSync(file, 'utf8'), text);
    }),
    { numRuns: Math.min(runs.numRuns, 150) },
  );
  assert.ok(accepted > 50, String(accepted));
});

function start(where: Place, ...argv: string[]): { exit: Promise<unknown[]>; kill(): void } {
  const child = spawn(process.execPath, [main, 'harness', ...argv], { env: where.env, stdio: 'ignore' });
  return { exit: once(child, 'exit'), kill: () => void child.kill('SIGKILL') };
}

test('several at once leave one whole entry of one of them, and restore gives the file back', async () => {
  const where = place();
  const file = where.file('.claude.json');
  writeFileSync(file, '{ "a": 1 }\n');
  const urls = [1, 2, 3, 4].map((one) => `http://127.0.0.1:780${one}/mcp`);
  const all = urls.map((one) => start(where, 'config', 'claude', '--url', one));
  all.push(start(where, 'restore', 'claude'));
  for (const one of all) assert.deepEqual(await one.exit, [0, null]);
  await where.facts('harness', 'config', 'claude', '--url', urls[0] ?? '');
  assert.equal((entry(file) as { url: string }).url, urls[0]);
  assert.equal((await where.facts('harness', 'restore', 'claude'))['done'], 'restored');
  assert.equal(readFileSync(file, 'utf8'), '{ "a": 1 }\n');
  assert.deepEqual(readdirSync(where.file('.local/state/wraptool/clients/claude')), []);
});

test('a kill -9 at any moment leaves the old file or the new one, which restore gives back', async () => {
  const where = place();
  const file = where.file('.claude.json');
  const original = `{ "a": ${JSON.stringify('x'.repeat(100_000))} }\n`;
  writeFileSync(file, original);
  const began = performance.now();
  await start(where, 'config', 'claude', '--url', url).exit;
  const whole = performance.now() - began;
  await where.facts('harness', 'restore', 'claude');
  let written = 0;
  for (const part of [0.5, 0.7, 0.8, 0.9, 1, 100]) {
    const child = start(where, 'config', 'claude', '--url', url);
    const timer = setTimeout(() => child.kill(), whole * part);
    await child.exit;
    clearTimeout(timer);
    if (readFileSync(file, 'utf8') !== original) {
      assert.equal((entry(file) as { url: string }).url, url);
      written += 1;
    }
    await where.facts('harness', 'restore', 'claude');
    assert.equal(readFileSync(file, 'utf8'), original);
  }
  assert.ok(written > 0);
  await where.facts('harness', 'config', 'claude', '--url', url);
  assert.deepEqual(
    readdirSync(where.home).filter((name) => name.startsWith('.wraptool')),
    [],
  );
});
