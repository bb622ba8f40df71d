import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import test, { type TestContext } from 'node:test';
import { needs } from '../support/real.ts';
import { watchConfig, type WatchOptions } from '../../src/config/watch.ts';

async function place(t: TestContext): Promise<string> {
  const dir = await realpath(await mkdtemp(path.join(os.tmpdir(), 'watch-')));
  t.after(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

/** A watch that reads the file at each change, as loading does. */
async function start(t: TestContext, file: string, options: Partial<WatchOptions> = {}) {
  const seen: string[] = [];
  const warnings: string[] = [];
  const watch = watchConfig({
    file,
    debounceMs: 10,
    recheckMs: 0,
    onChange: () => void seen.push(readFileSync(file, 'utf8')),
    onWarn: (warning) => warnings.push(warning),
    ...options,
  });
  t.after(() => watch.close());
  assert.equal(await watch.ready, true);
  return { watch, seen, warnings };
}

async function until(condition: () => boolean, what: string, ms = 5_000): Promise<void> {
  const deadline = performance.now() + ms;
  while (!condition()) {
    assert.ok(performance.now() < deadline, `in ${ms} ms it did not happen that ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

function saveByRename(file: string, text: string): void {
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
}

/** As Kubernetes projects a volume: config.yaml -> ..data/config.yaml, ..data -> a folder of its own for each version. */
function projectVolume(dir: string): (text: string) => void {
  let version = 0;
  const write = (text: string) => {
    version += 1;
    const folder = `..version-${version}`;
    mkdirSync(path.join(dir, folder));
    writeFileSync(path.join(dir, folder, 'config.yaml'), text);
    symlinkSync(folder, path.join(dir, '..data_tmp'));
    renameSync(path.join(dir, '..data_tmp'), path.join(dir, '..data'));
    if (version > 1) rmSync(path.join(dir, `..version-${version - 1}`), { recursive: true });
  };
  write('version: 0');
  symlinkSync('..data/config.yaml', path.join(dir, 'config.yaml'));
  return write;
}

const saves = 200;

const kinds: readonly {
  readonly title: string;
  readonly prepare: (dir: string) => (text: string) => void;
}[] = [
  {
    title: 'by rename',
    prepare: (dir) => {
      const file = path.join(dir, 'config.yaml');
      writeFileSync(file, 'version: 0');
      return (text) => saveByRename(file, text);
    },
  },
  {
    title: 'in place',
    prepare: (dir) => {
      const file = path.join(dir, 'config.yaml');
      writeFileSync(file, 'version: 0');
      return (text) => writeFileSync(file, text);
    },
  },
  { title: 'by switching a link on the way', prepare: projectVolume },
];

for (const { title, prepare } of kinds) {
  void test(`of ${saves} saves ${title} none is missed`, async (t) => {
    const dir = await place(t);
    const save = prepare(dir);
    const { seen, warnings } = await start(t, path.join(dir, 'config.yaml'));
    const missed: number[] = [];
    for (let number = 1; number <= saves; number += 1) {
      const text = `version: ${number}`;
      save(text);
      await until(() => seen.at(-1) === text, `save ${number} was seen`).catch(() => missed.push(number));
    }
    assert.deepEqual({ missed, warnings }, { missed: [], warnings: [] });
  });

  void test(`of ${saves} saves ${title} at odd moments the last one is seen`, async (t) => {
    const dir = await place(t);
    const save = prepare(dir);
    const { seen } = await start(t, path.join(dir, 'config.yaml'), { debounceMs: 3 });
    for (let number = 1; number <= saves; number += 1) {
      save(`version: ${number}`);
      const pause = (number * 7) % 11;
      if (pause > 0) await new Promise((resolve) => setTimeout(resolve, pause));
    }
    await until(() => seen.at(-1) === `version: ${saves}`, 'the last save was seen');
  });
}

void test('a burst is told once', async (t) => {
  const file = path.join(await place(t), 'config.yaml');
  writeFileSync(file, 'a');
  const { seen } = await start(t, file, { debounceMs: 200 });
  for (let number = 0; number < 20; number += 1) {
    saveByRename(file, `burst ${number}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await until(() => seen.length > 0, 'the burst was seen');
  await new Promise((resolve) => setTimeout(resolve, 400));
  assert.deepEqual(seen, ['burst 19']);
});

void test('a file that never comes to rest is loaded all the same', async (t) => {
  const file = path.join(await place(t), 'config.yaml');
  writeFileSync(file, 'a');
  const { seen } = await start(t, file, { debounceMs: 30 });
  const began = performance.now();
  for (let number = 0; seen.length === 0; number += 1) {
    assert.ok(performance.now() - began < 5_000, 'never loaded');
    writeFileSync(file, `restless ${number}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
});

void test('a save while one is being loaded is not lost, and loads never overlap', async (t) => {
  const file = path.join(await place(t), 'config.yaml');
  writeFileSync(file, 'a');
  const seen: string[] = [];
  let running = 0;
  let most = 0;
  const { watch } = await start(t, file, {
    onChange: async () => {
      running += 1;
      most = Math.max(most, running);
      seen.push(readFileSync(file, 'utf8'));
      if (seen.length === 1) writeFileSync(file, 'second');
      await new Promise((resolve) => setTimeout(resolve, 60));
      running -= 1;
    },
  });
  writeFileSync(file, 'first');
  await until(() => seen.includes('second'), 'the second save was seen');
  await watch.reload();
  assert.deepEqual({ seen: seen.slice(0, 2), most }, { seen: ['first', 'second'], most: 1 });
});

void test('the same content saved again is no change, another mode is', async (t) => {
  const file = path.join(await place(t), 'config.yaml');
  writeFileSync(file, 'same', { mode: 0o600 });
  const { seen } = await start(t, file);
  saveByRename(file, 'same');
  chmodSync(file, 0o600);
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.deepEqual(seen, []);
  chmodSync(file, 0o640);
  await until(() => seen.length === 1, 'the mode was seen');
});

void test('a file that is removed is told once and is watched again when it is put back', async (t) => {
  const file = path.join(await place(t), 'config.yaml');
  writeFileSync(file, 'one');
  const { seen, warnings } = await start(t, file);
  rmSync(file);
  await until(() => warnings.length > 0, 'the removal was told');
  writeFileSync(`${file}.other`, 'in the same folder');
  writeFileSync(file, 'two');
  await until(() => seen.at(-1) === 'two', 'the new file was seen');
  saveByRename(file, 'three');
  await until(() => seen.at(-1) === 'three', 'the next save was seen');
  assert.deepEqual(warnings, [`config file '${file}' can't be read (ENOENT): the running policy stays`]);
});

void test('a folder on the way that is replaced, removed and made again is followed', async (t) => {
  const dir = await place(t);
  const [outer, inner] = [path.join(dir, 'outer'), path.join(dir, 'outer', 'inner')];
  const file = path.join(inner, 'config.yaml');
  mkdirSync(inner, { recursive: true });
  writeFileSync(file, 'one');
  const { seen } = await start(t, file);
  const step = async (text: string, change: () => void) => {
    change();
    await until(() => seen.at(-1) === text, `'${text}' was seen`);
  };
  await step('inner replaced', () => {
    mkdirSync(path.join(dir, 'inner.new'));
    writeFileSync(path.join(dir, 'inner.new', 'config.yaml'), 'inner replaced');
    renameSync(inner, path.join(dir, 'inner.old'));
    renameSync(path.join(dir, 'inner.new'), inner);
  });
  await step('outer replaced', () => {
    mkdirSync(path.join(dir, 'outer.new', 'inner'), { recursive: true });
    writeFileSync(path.join(dir, 'outer.new', 'inner', 'config.yaml'), 'outer replaced');
    renameSync(outer, path.join(dir, 'outer.old'));
    renameSync(path.join(dir, 'outer.new'), outer);
  });
  await step('made again', () => {
    rmSync(outer, { recursive: true });
    mkdirSync(inner, { recursive: true });
    writeFileSync(file, 'made again');
  });
  await step('saved in the new one', () => saveByRename(file, 'saved in the new one'));
});

void test('a chain of links is watched at each of its folders', async (t) => {
  const dir = await place(t);
  for (const name of ['home/.config', 'store/1', 'store/2', 'profiles'])
    mkdirSync(path.join(dir, name), { recursive: true });
  writeFileSync(path.join(dir, 'store/1/config.yaml'), 'generation 1');
  writeFileSync(path.join(dir, 'store/2/config.yaml'), 'generation 2');
  symlinkSync('../store/1', path.join(dir, 'profiles/current'));
  symlinkSync('../../profiles/current/config.yaml', path.join(dir, 'home/.config/config.yaml'));
  const { seen } = await start(t, path.join(dir, 'home/.config/config.yaml'));
  symlinkSync('../store/2', path.join(dir, 'profiles/next'));
  renameSync(path.join(dir, 'profiles/next'), path.join(dir, 'profiles/current'));
  await until(() => seen.at(-1) === 'generation 2', 'the profile was switched');
  writeFileSync(path.join(dir, 'store/2/config.yaml'), 'written behind the links');
  await until(() => seen.at(-1) === 'written behind the links', 'the write behind the links was seen');
  rmSync(path.join(dir, 'home/.config/config.yaml'));
  writeFileSync(path.join(dir, 'home/.config/config.yaml'), 'no link any more');
  await until(() => seen.at(-1) === 'no link any more', 'the link was replaced by a file');
});

void test('a change before the watches stood is told if the loaded content is given', async (t) => {
  const file = path.join(await place(t), 'config.yaml');
  writeFileSync(file, 'newer than what was loaded');
  const loaded = createHash('sha256').update('older').digest('hex');
  const { seen } = await start(t, file, { loaded });
  assert.deepEqual(seen, ['newer than what was loaded']);
});

void test('reload loads without a change, and a load that fails is told and leaves the watch alive', async (t) => {
  const file = path.join(await place(t), 'config.yaml');
  writeFileSync(file, 'one');
  let loads = 0;
  const { watch, warnings } = await start(t, file, {
    onChange: () => {
      loads += 1;
      if (loads === 1) throw new Error('line 3: expected a list');
    },
  });
  await watch.reload();
  assert.deepEqual(warnings, ['reload failed: line 3: expected a list']);
  writeFileSync(file, 'two');
  await until(() => loads === 2, 'the next save was loaded');
});

void test('a pipe in place of the file blocks nothing', async (t) => {
  const file = path.join(await place(t), 'config.yaml');
  writeFileSync(file, 'one');
  const { seen, warnings } = await start(t, file);
  rmSync(file);
  await once(spawn('/usr/bin/mkfifo', [file]), 'exit');
  await until(() => warnings.some((warning) => warning.includes('it is no file')), 'the pipe was told');
  rmSync(file);
  writeFileSync(file, 'two');
  await until(() => seen.at(-1) === 'two', 'the file was seen again');
});

void test('a change without an event is seen by looking', async (t) => {
  const dir = await place(t);
  const file = path.join(dir, 'config.yaml');
  writeFileSync(file, 'one');
  // A write by another name of the same file: the folder of the config is not told.
  mkdirSync(path.join(dir, 'elsewhere'));
  linkSync(file, path.join(dir, 'elsewhere', 'same'));
  const { seen } = await start(t, file, { recheckMs: 20 });
  writeFileSync(path.join(dir, 'elsewhere', 'same'), 'two');
  await until(() => seen.at(-1) === 'two', 'the change was seen');
});

void test('after close nothing is told', async (t) => {
  const file = path.join(await place(t), 'config.yaml');
  writeFileSync(file, 'one');
  const { watch, seen } = await start(t, file);
  writeFileSync(file, 'two');
  watch.close();
  writeFileSync(file, 'three');
  await new Promise((resolve) => setTimeout(resolve, 80));
  assert.deepEqual(seen, []);
});

/** Limits of inotify that hold for a user namespace alone. */
for (const [limit, code] of [
  ['max_inotify_watches', 'ENOSPC'],
  ['max_inotify_instances', 'EMFILE'],
] as const) {
  void test(`without watches (${code}) it warns, and reload still loads`, needs('userns'), async (t) => {
    const dir = await place(t);
    writeFileSync(path.join(dir, 'config.yaml'), 'one');
    const script = path.join(import.meta.dirname, '..', 'fixtures', 'config', 'watch-limited.ts');
    const command = `echo 0 > /proc/sys/user/${limit} && exec "$@"`;
    const child = spawn(
      '/usr/bin/unshare',
      ['-Ur', '/bin/sh', '-c', command, 'sh', process.execPath, script, path.join(dir, 'config.yaml')],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const [out] = await Promise.all([text(child.stdout), once(child, 'exit')]);
    const told = JSON.parse(out) as { ready: boolean; warnings: string[]; loads: number };
    assert.deepEqual(
      { ...told, warnings: told.warnings.map((warning) => warning.replace(/ \(fs.*\)/, '')) },
      {
        ready: false,
        warnings: [`the config can't be watched: ${code}; a change is loaded on SIGHUP only`],
        loads: 1,
      },
    );
  });
}

async function text(stream: NodeJS.ReadableStream): Promise<string> {
  let all = '';
  for await (const chunk of stream) all += String(chunk);
  return all;
}
