/** Programs that do more than print help when they are asked for it: what reaches the host, and what is never run. */
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { WraptoolError } from '../../src/errors.ts';
import { resolveBinary } from '../../src/executor/binary.ts';
import { startSpawner } from '../../src/executor/spawner.ts';
import { createIntrospector, type ToolToRead } from '../../src/introspect/introspect.ts';
import { helpArgv } from '../../src/introspect/invocation.ts';

const spawner = startSpawner();
const dir = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'wraptool-introspect-')));
const home = path.join(dir, 'home');
fs.mkdirSync(home);
after(async () => {
  await spawner.close();
  fs.rmSync(dir, { recursive: true });
});

let made = 0;

/** A script with a folder and a cache of its own. */
function program(name: string, body: string) {
  const folder = path.join(dir, String(made++));
  const file = path.join(folder, name);
  fs.mkdirSync(folder);
  fs.writeFileSync(file, `#!/bin/sh\n${body}\n`, { mode: 0o755 });
  const introspector = () => createIntrospector({ spawner, cacheDir: path.join(folder, 'cache'), home });
  const tool = async (argv: readonly string[] | null = null): Promise<ToolToRead> => ({
    name,
    binary: await resolveBinary(file, []),
    configured: file,
    helpArgv: argv,
  });
  const read = async (argv: readonly string[] | null = null) => introspector().read(await tool(argv));
  return { file, folder, introspector, tool, read };
}

const shown = (help: { subcommands: Readonly<Record<string, string>> }) => Object.keys(help.subcommands);

/** A script that prints each word as a command of its own. */
const say = (words: string) => `echo 'Commands:'; for word in ${words}; do echo "  $word  x"; done`;

describe('a program that is run for its help', () => {
  test('EXEC-004: gets cat for a pager, and an environment without anything of the host', async () => {
    process.env['WRAPTOOL_TEST_CANARY'] = 'seen';
    const { read } = program(
      'tool',
      `${say('pager-$PAGER manpager-$MANPAGER git-$GIT_PAGER')}; env | cut -d= -f1 | sort | sed 's/.*/  n-&  x/'`,
    );
    const names = shown(await read());
    assert.deepEqual(names.slice(0, 3), ['pager-cat', 'manpager-cat', 'git-cat']);
    const variables = names.slice(3).map((name) => name.slice(2));
    assert.ok(variables.includes('HOME') && variables.includes('PATH'));
    assert.deepEqual(
      variables.filter((name) => name === 'WRAPTOOL_TEST_CANARY' || name.startsWith('npm_')),
      [],
    );
  });

  test('EXEC-006: runs in an empty folder, never in a project', async () => {
    fs.writeFileSync(path.join(dir, '.yarnrc.yml'), 'yarnPath: ./canary\n');
    const { read } = program(
      'yarn',
      say('in$(pwd) files-$(ls -A | wc -l)').replace('echo "  $word', 'echo "  w$word'),
    );
    const before = process.cwd();
    process.chdir(dir);
    try {
      const [cwd, files] = shown(await read());
      assert.match(cwd ?? '', /^win\/(?:tmp|run)$/);
      assert.equal(files, 'wfiles-0');
    } finally {
      process.chdir(before);
    }
  });

  test('EXEC-007: may print it on the standard error, with any exit code', async () => {
    const { read } = program('tool', `{ ${say('add del')}; } >&2; exit 255`);
    assert.deepEqual(shown(await read()), ['add', 'del']);
  });

  test('EXEC-009: has an empty HOME, and no config of the operator', async () => {
    fs.writeFileSync(path.join(home, '.npmrc'), 'script-shell=/canary\n');
    const { read } = program(
      'npm',
      say(`home-$(ls -A "$HOME" | wc -l) seen-$(ls -d ${home} 2>/dev/null | wc -l)`),
    );
    assert.deepEqual(shown(await read()), ['home-0', 'seen-0']);
  });

  test('can write nothing of the host, and read nothing of it but itself', async () => {
    const secret = path.join(dir, 'secret');
    fs.writeFileSync(secret, 'x');
    const canary = path.join(dir, 'canary');
    const { read, folder } = program(
      'tool',
      `touch ${canary} /usr/canary "$0.changed" 2>/dev/null; ${say(`read-$(cat ${secret} 2>/dev/null)-`)}`,
    );
    assert.deepEqual(shown(await read()), ['read--']);
    assert.equal(fs.existsSync(canary), false);
    assert.deepEqual(fs.readdirSync(folder).toSorted(), ['cache', 'tool']);
  });

  test('has no network', async (t) => {
    let hits = 0;
    const server = http.createServer((_request, response) => {
      hits++;
      response.end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => server.close());
    const { port } = server.address() as { port: number };
    const { read } = program('tool', `curl -s -m 2 http://127.0.0.1:${port}/; code=$?; ${say('curl-$code')}`);
    assert.deepEqual(shown(await read()), ['curl-7']);
    assert.equal(hits, 0);
  });

  test('has no terminal, and an empty standard input', async () => {
    const { read } = program(
      'tool',
      `(: </dev/tty) 2>/dev/null && ${say('tty')}; ${say('read-$(cat | wc -c)')}`,
    );
    assert.deepEqual(shown(await read()), ['read-0']);
  });

  test('is ended when it takes too long, with all that it started', async () => {
    const { tool, introspector } = program('tool', 'sleep 60 & sleep 60');
    const start = performance.now();
    await assert.rejects(introspector().read(await tool()), { code: 'introspect_failed' });
    assert.ok(performance.now() - start < 15_000);
  });

  test('is ended when it prints without end, and what it printed is read', async () => {
    const { read } = program('tool', `${say('first second')}; yes 'It goes on and on.'`);
    assert.deepEqual(shown(await read()), ['first', 'second']);
  });

  test('that prints none is an error which says what it said, and is not kept', async () => {
    const { read, folder } = program('tool', 'echo "tool: no such option" >&2; exit 2');
    await assert.rejects(read(), {
      code: 'introspect_failed',
      message: /printed no help: tool: no such option/,
    });
    assert.equal(fs.existsSync(path.join(folder, 'cache')), false);
  });
});

describe('EXEC-008: the arguments', () => {
  const cases: [what: string, names: string[], configured: string[] | null, expected: string[] | null][] = [
    ['of a program that nothing is known of are --help, never -h or help', ['/opt/x/tool'], null, ['--help']],
    ['of one that takes -h for a host are --help', ['/usr/bin/psql'], null, ['--help']],
    ['of rsync are --help', ['/usr/bin/rsync'], null, ['--help']],
    ['of shutdown are unknown: it is not run', ['/sbin/shutdown'], null, null],
    ['of a link by that name are unknown, too', ['/sbin/reboot', '/usr/bin/systemctl'], null, null],
    ['of systemctl itself are --help', ['/usr/bin/systemctl'], null, ['--help']],
    ['of mkfs.ext4 are unknown', ['/sbin/mkfs.ext4'], null, null],
    ['of a pager are unknown', ['/usr/bin/less'], null, null],
    ['of ip are -help', ['/usr/sbin/ip'], null, ['-help']],
    ['of go are help', ['/usr/local/go/bin/go'], null, ['help']],
    ['are the operator’s where he names them', ['/sbin/shutdown'], ['--help'], ['--help']],
    ['that are an empty list are never to run it', ['/usr/bin/git'], [], null],
  ];
  for (const [what, names, configured, expected] of cases)
    test(what, () => assert.deepEqual(helpArgv(names, configured), expected));

  test('that are refused run nothing', async () => {
    const { read, folder } = program('shutdown', say('ran'));
    await assert.rejects(read(), { code: 'introspect_refused' });
    assert.equal(fs.existsSync(path.join(folder, 'cache')), false);
  });

  test('that the operator named are what the program gets, and nothing else', async () => {
    const { read } = program('tool', say('argc-$# first-$1'));
    assert.deepEqual(shown(await read(['usage'])), ['argc-1', 'first-usage']);
  });
});

describe('what was read', () => {
  const counting = (folderOf: () => string) => fs.readdirSync(path.join(folderOf(), 'cache')).length;

  test('is kept for the next process, in a file for its owner alone', async () => {
    const { file, introspector, tool, folder } = program('tool', say('one two'));
    const first = await tool();
    await introspector().read(first);
    const [kept] = fs.readdirSync(path.join(folder, 'cache'));
    assert.equal(fs.statSync(path.join(folder, 'cache')).mode & 0o777, 0o700);
    assert.equal(fs.statSync(path.join(folder, 'cache', kept!)).mode & 0o777, 0o600);
    // Gone: only the cache can answer now.
    fs.rmSync(file);
    assert.deepEqual(shown(await introspector().read(first)), ['one', 'two']);
  });

  test('is read anew when the binary is another one', async () => {
    const { file, introspector, tool, folder } = program('tool', say('one'));
    assert.deepEqual(shown(await introspector().read(await tool())), ['one']);
    fs.writeFileSync(file, `#!/bin/sh\n${say('two three')}\n`);
    assert.deepEqual(shown(await introspector().read(await tool())), ['two', 'three']);
    assert.equal(
      counting(() => folder),
      2,
    );
  });

  test('is read anew when its file was damaged', async () => {
    const { introspector, tool, folder } = program('tool', say('one'));
    const it = await tool();
    await introspector().read(it);
    const [kept] = fs.readdirSync(path.join(folder, 'cache'));
    for (const text of [
      '{',
      '{}',
      '{"help":{"subcommands":{"a":1},"flags":[]}}',
      '{"help":{"subcommands":{},"flags":[1]}}',
    ]) {
      fs.writeFileSync(path.join(folder, 'cache', kept!), text);
      assert.deepEqual(shown(await introspector().read(it)), ['one']);
    }
  });

  test('is refused of a binary that was swapped since the config was loaded', async () => {
    const { file, introspector, tool } = program('tool', say('one'));
    const it = await tool();
    fs.writeFileSync(file, `#!/bin/sh\n${say('swapped')}\n`);
    await assert.rejects(introspector().read(it), { code: 'binary_invalid' });
  });

  test('is asked for once, however many ask at a time', async () => {
    const { introspector, tool } = program('tool', say('pid-$(cat /proc/sys/kernel/random/uuid)'));
    const it = await tool();
    const one = introspector();
    const [a, b] = await Promise.all([one.read(it), one.read(it)]);
    assert.deepEqual(a, b);
  });
});

test('where nothing confines, nothing is run', async () => {
  const { tool, folder } = program('tool', say('ran'));
  const broken = createIntrospector({
    spawner: {
      start: () => ({
        exit: Promise.reject(new WraptoolError('confine_unavailable', 'bubblewrap cannot confine here')),
        kill: () => {},
      }),
      close: async () => {},
    },
    cacheDir: path.join(folder, 'cache'),
    home,
  });
  await assert.rejects(broken.read(await tool()), { code: 'confine_unavailable' });
});
