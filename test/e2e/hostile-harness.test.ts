/** What a hostile harness tries from inside against the operator's own files and processes. */
import assert from 'node:assert/strict';
import { open, readFile, writeFile } from 'node:fs/promises';
import { spawn } from 'node:child_process';
import path from 'node:path';
import { once } from 'node:events';
import test from 'node:test';
import { pathWithGuix } from '../support/guix.ts';
import { needs } from '../support/real.ts';
import { gitConfig, place, type Place } from './place.ts';
import { main } from '../support/main.ts';

const runtimes = [
  { name: 'guix', part: 'guix' },
  { name: 'bubblewrap', part: 'bubblewrap' },
  { name: 'devcontainer', part: 'docker' },
] as const;

async function ready(t: test.TestContext): Promise<Place> {
  const where = await place(t);
  where.env['PATH'] = pathWithGuix(where.env['PATH']);
  await where.writeConfig(`${gitConfig}up: { base_image: wraptool-test-base, network: none }\n`);
  return where;
}

for (const { name: runtime, part } of runtimes)
  void test(
    `${runtime}: a file that is a standard stream is read or appended to, never opened anew`,
    needs(part),
    async (t) => {
      const where = await ready(t);
      const file = (name: string): string => path.join(where.dir, name);
      for (const name of ['in', 'out', 'err']) await writeFile(file(name), `${name} of the operator\n`);
      const handles = await Promise.all([
        open(file('in'), 'r'),
        open(file('out'), 'a'),
        open(file('err'), 'a'),
      ]);
      const script = `cat
        for fd in 0 1 2; do for pid in self $PPID; do (exec 7> /proc/$pid/fd/$fd && echo overwritten >&7) 2> /dev/null; done; done
        echo named > /dev/stdout; echo named > /dev/stderr; exit 5`;
      const child = spawn(process.execPath, [main, 'up', 'shell', '--runtime', runtime, '--', '-c', script], {
        cwd: where.workspace,
        env: where.env,
        stdio: handles.map((handle) => handle.fd),
      });
      assert.deepEqual(await once(child, 'close'), [5, null]);
      await Promise.all(handles.map((handle) => handle.close()));
      const [given, out, err] = await Promise.all(
        ['in', 'out', 'err'].map((name) => readFile(file(name), 'utf8')),
      );
      assert.equal(given, 'in of the operator\n');
      assert.match(out ?? '', /^out of the operator\nin of the operator\n[^]*named\n$/);
      assert.match(err ?? '', /^err of the operator\n[^]*named\n$/);
    },
  );
