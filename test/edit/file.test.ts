import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { WraptoolError } from '../../src/errors.ts';
import { editFile, updateFile } from '../../src/edit/file.ts';
import { addAllowRule } from '../../src/edit/policy.ts';
import type { Outcome } from '../../src/edit/types.ts';
import { needs } from '../support/real.ts';
import { scratch } from '../support/scratch.ts';
import { atCall, failure, faultyDisk } from './faulty-disk.ts';

const child = fileURLToPath(new URL('editor-child.ts', import.meta.url));
const config =
  'version: 1\ntools:\n  git:\n    binary: /usr/bin/git\n    allow:\n      - subcommand: push\n        flags: [--x]\n';

function configIn(dir: string): string {
  const file = path.join(dir, 'config.yaml');
  writeFileSync(file, config, { mode: 0o640 });
  return file;
}

function allow(flag: string): (text: string | null) => Outcome {
  return (text) => addAllowRule(text ?? '', { tool: 'git', subcommand: 'push', flags: [flag] });
}

function withFlags(...flags: readonly string[]): string {
  return config.replace('[--x]', `[${['--x', ...flags].join(', ')}]`);
}

async function editor(...args: readonly string[]): Promise<{ code: number | null; signal: string | null }> {
  const running = spawn(process.execPath, [child, ...args], { stdio: ['ignore', 'inherit', 'inherit'] });
  const [code, signal] = (await once(running, 'exit')) as [number | null, string | null];
  return { code, signal };
}

/** How many file system calls an edit makes that nothing disturbs. */
async function callsOf(
  prepare: (dir: string) => string,
  run: (file: string, disk: ReturnType<typeof atCall>['disk']) => Promise<unknown>,
): Promise<string[]> {
  const { disk, calls } = atCall(0, () => undefined);
  await run(prepare(scratch()), disk);
  return calls;
}

void describe('a file that is edited', () => {
  void test('keeps its mode, and nothing is left beside it', async () => {
    const dir = scratch();
    const file = configIn(dir);
    chmodSync(file, 0o664);
    assert.equal((await editFile(file, allow('--tags'))).ok, true);
    assert.equal(readFileSync(file, 'utf8'), withFlags('--tags'));
    assert.equal(statSync(file).mode & 0o7777, 0o664);
    assert.deepEqual(readdirSync(dir), ['config.yaml']);
  });
  void test('keeps its owner', needs('root'), async () => {
    const file = configIn(scratch());
    chownSync(file, 65534, 65533);
    await editFile(file, allow('--tags'));
    const { uid, gid, mode } = statSync(file);
    assert.deepEqual([uid, gid, mode & 0o7777], [65534, 65533, 0o640]);
  });
  void test('is left alone, to the inode, where nothing has to change or the edit is refused', async () => {
    const file = configIn(scratch());
    const { ino } = statSync(file);
    assert.deepEqual((await editFile(file, allow('--x'))).ok, true);
    assert.deepEqual(
      (await editFile(file, (text) => addAllowRule(text ?? '', { tool: 'gh', subcommand: null, flags: [] })))
        .ok,
      false,
    );
    assert.deepEqual([statSync(file).ino, readFileSync(file, 'utf8')], [ino, config]);
  });
  void test('is reached through links, relative ones and several, which stay', async () => {
    const dir = scratch();
    mkdirSync(path.join(dir, 'real'));
    const file = configIn(path.join(dir, 'real'));
    symlinkSync('real/config.yaml', path.join(dir, 'one'));
    symlinkSync(path.join(dir, 'one'), path.join(dir, 'two'));
    await editFile(path.join(dir, 'two'), allow('--tags'));
    assert.equal(readFileSync(file, 'utf8'), withFlags('--tags'));
    assert.deepEqual(
      [readlinkSync(path.join(dir, 'one')), readlinkSync(path.join(dir, 'two'))],
      ['real/config.yaml', path.join(dir, 'one')],
    );
    assert.ok(lstatSync(file).isFile());
  });
  void test('is made where a link leads that has no end yet, with mode 0600 from its first byte', async () => {
    const dir = scratch();
    symlinkSync('new/deep.json', path.join(dir, 'link'));
    const modes: number[] = [];
    const disk = faultyDisk((call) => {
      if (!call.startsWith('handle.')) return;
      for (const name of readdirSync(path.join(dir, 'new')))
        modes.push(statSync(path.join(dir, 'new', name)).mode & 0o777);
    });
    const before = process.umask(0);
    try {
      await updateFile(path.join(dir, 'link'), () => ({ write: Buffer.from('{}\n') }), disk);
    } finally {
      process.umask(before);
    }
    assert.deepEqual([...new Set(modes)], [0o600]);
    assert.equal(readFileSync(path.join(dir, 'new', 'deep.json'), 'utf8'), '{}\n');
    assert.deepEqual(readdirSync(path.join(dir, 'new')), ['deep.json']);
    assert.equal(statSync(path.join(dir, 'new')).mode & 0o777, 0o700);
  });
  void test('that is not UTF-8 is refused', async () => {
    const file = path.join(scratch(), 'config.yaml');
    writeFileSync(file, Buffer.from([0x61, 0xff]));
    assert.deepEqual(await editFile(file, allow('--tags')), {
      ok: false,
      code: 'not_utf8',
      why: 'the file is not UTF-8',
    });
  });
});

void describe('a file that cannot be edited', () => {
  const cases: readonly { name: string; make: (dir: string) => string | Promise<string>; message: RegExp }[] =
    [
      {
        name: 'is read-only',
        make: (dir) => {
          const file = configIn(dir);
          chmodSync(file, 0o444);
          return file;
        },
        message: /is read-only$/,
      },
      { name: 'is a folder', make: (dir) => dir, message: /is not a regular file$/ },
      {
        name: 'is a pipe that nobody writes to',
        make: async (dir) => {
          const file = path.join(dir, 'pipe');
          await promisify(execFile)('mkfifo', [file]);
          return file;
        },
        message: /is not a regular file$/,
      },
      {
        name: 'is a link in a circle',
        make: (dir) => {
          symlinkSync('b', path.join(dir, 'a'));
          symlinkSync('a', path.join(dir, 'b'));
          return path.join(dir, 'a');
        },
        message: /is a link in a circle$/,
      },
      {
        name: 'lies below a file',
        make: (dir) => path.join(configIn(dir), 'x'),
        message: /could not be edited and is as it was: (ENOTDIR|EEXIST)/,
      },
    ];
  for (const { name, make, message } of cases)
    void test(name, async () => {
      const file = await make(scratch());
      await assert.rejects(
        updateFile(file, () => ({ write: Buffer.from('x') })),
        { code: 'edit_failed', message },
      );
    });

  void test('on a disk that is full (a limit of the process) is as it was', async () => {
    const dir = scratch();
    const file = configIn(dir);
    const filler = `${config}${'# filler\n'.repeat(4000)}`;
    writeFileSync(file, filler);
    const limited = spawn(
      'bash',
      ['-c', 'ulimit -f 8; exec "$@"', 'sh', process.execPath, child, file, '1', '0', 'tags'],
      { stdio: 'ignore' },
    );
    const [code, signal] = (await once(limited, 'exit')) as [number | null, string | null];
    assert.ok(code !== 0, `ended with ${code} ${signal}`);
    assert.equal(readFileSync(file, 'utf8'), filler);
    await editFile(file, allow('--tags'));
    assert.deepEqual(readdirSync(dir), ['config.yaml']);
  });
});

void describe('whatever call fails', () => {
  for (const code of ['ENOSPC', 'EIO'])
    void test(`with ${code}, the file is the old one or the new one, and the error says which`, async () => {
      const calls = await callsOf(configIn, (file, disk) => editFile(file, allow('--tags'), disk));
      assert.ok(calls.length > 20);
      for (let number = 1; number <= calls.length; number += 1) {
        const dir = scratch();
        const file = configIn(dir);
        const { disk } = atCall(number, failure(code));
        const error = await editFile(file, allow('--tags'), disk).then(
          () => null,
          (reason: WraptoolError) => reason,
        );
        assert.equal(error?.code, 'edit_failed', `${number} ${calls[number - 1]}`);
        const text = readFileSync(file, 'utf8');
        const committed = error.message.includes('was edited, but that may not last');
        assert.equal(text, committed ? withFlags('--tags') : config, `${number} ${calls[number - 1]}`);
      }
    });
});

void describe('a kill -9 before any call', () => {
  // A call that changes nothing adds no state to those before and after it.
  const changing = /^(mkdir|open|rename|link|unlink|handle\.(writeFile|chmod|chown|sync))$/;
  void test('leaves the old file or the new one, and what is left over is swept by the next edit', async () => {
    const calls = await callsOf(configIn, (file, disk) => editFile(file, allow('--tags-0'), disk));
    const numbers = calls.flatMap((call, index) => (changing.test(call) ? [index + 1] : []));
    assert.ok(numbers.length >= 8);
    const seen = new Set<string>();
    const killed = async (number: number): Promise<void> => {
      const dir = scratch();
      const file = configIn(dir);
      assert.deepEqual(await editor(file, '1', String(number), 'tags'), { code: null, signal: 'SIGKILL' });
      const text = readFileSync(file, 'utf8');
      assert.ok(text === config || text === withFlags('--tags-0'), `${number} ${calls[number - 1]}: ${text}`);
      assert.equal(statSync(file).mode & 0o7777, 0o640);
      seen.add(text);
      await editFile(file, allow('--after'));
      assert.equal(readFileSync(file, 'utf8'), text.replace(']', ', --after]'));
      assert.deepEqual(readdirSync(dir), ['config.yaml']);
    };
    while (numbers.length > 0) await Promise.all(numbers.splice(0, 3).map(killed));
    assert.equal(seen.size, 2);
  });
});

void describe('editors at once', () => {
  void test('in several processes lose nothing', async () => {
    const file = configIn(scratch());
    const names = ['a', 'b', 'c', 'd'];
    const ends = await Promise.all(names.map((name) => editor(file, '6', '0', name)));
    assert.deepEqual(
      ends,
      names.map(() => ({ code: 0, signal: null })),
    );
    const flags = /\[(.*)\]/.exec(readFileSync(file, 'utf8'))?.[1]?.split(', ').sort();
    const expected = names.flatMap((name) => [0, 1, 2, 3, 4, 5].map((index) => `--${name}-${index}`));
    assert.deepEqual(flags, [...expected, '--x'].sort());
    assert.deepEqual(readdirSync(path.dirname(file)), ['config.yaml']);
  });
  void test('in one process lose nothing', async () => {
    const file = configIn(scratch());
    const names = Array.from({ length: 12 }, (_, index) => `--p${index}`);
    await Promise.all(names.map((name) => editFile(file, allow(name))));
    assert.deepEqual(
      /\[(.*)\]/.exec(readFileSync(file, 'utf8'))?.[1]?.split(', ').sort(),
      [...names, '--x'].sort(),
    );
  });
  for (const [how, meddle] of [
    ['in place', (file: string, text: string): void => writeFileSync(file, text)],
    [
      'by a new file',
      (file: string, text: string): void => {
        writeFileSync(`${file}~`, text);
        renameSync(`${file}~`, file);
      },
    ],
  ] as const)
    void test(`of which one is no wraptool and writes ${how} lose nothing`, async () => {
      const file = configIn(scratch());
      let left = 3;
      const disk = faultyDisk((call) => {
        if (call !== 'handle.sync' || left === 0) return;
        left -= 1;
        meddle(file, `# by hand ${left}\n${config}`);
      });
      await editFile(file, allow('--tags'), disk);
      assert.equal(readFileSync(file, 'utf8'), `# by hand 0\n${withFlags('--tags')}`);
    });
  void test('a file that appears meanwhile is not written over', async () => {
    const file = path.join(scratch(), 'new.yaml');
    const disk = faultyDisk((call) => {
      if (call === 'link') writeFileSync(file, config);
    });
    await editFile(
      file,
      (text) =>
        text === null
          ? {
              ok: true,
              text: 'x: 1\n',
              changes: [{ at: 0, remove: '', insert: 'x: 1\n' }],
              diff: '',
              notes: [],
            }
          : allow('--tags')(text),
      disk,
    );
    assert.equal(readFileSync(file, 'utf8'), withFlags('--tags'));
  });
  void test('a file that never stays is given up', async () => {
    const file = configIn(scratch());
    let count = 0;
    const disk = faultyDisk((call) => {
      if (call === 'handle.sync') writeFileSync(file, `# ${(count += 1)}\n${config}`);
    });
    await assert.rejects(editFile(file, allow('--tags'), disk), {
      code: 'edit_conflict',
      message: /keeps changing while it is edited$/,
    });
    assert.deepEqual(readdirSync(path.dirname(file)), ['config.yaml']);
  });
});
