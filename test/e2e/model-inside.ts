/** A scripted model in the network of a session: the only thing that its client can reach. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, readdir, readlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Recorded, Step } from '../support/mock-model.ts';
import { until } from '../support/until.ts';
import { seen, type Place } from './place.ts';

const program = fileURLToPath(new URL('../support/mock-model.ts', import.meta.url));

/** Where the model listens, in the session's own network. */
export const address = '127.0.0.1:8080';
export const modelUrl = `http://${address}`;

/** A client's start may take long on a machine that runs other tests. */
export const patience = 120_000;

export type Model = {
  requests(): Promise<Recorded[]>;
  /** Waits for a request, past or future, that satisfies the predicate. */
  until(what: string, predicate: (request: Recorded) => boolean): Promise<Recorded>;
};

/** Starts the model in the network of the session, as soon as that is there. */
export async function startModel(
  t: TestContext,
  where: Place,
  session: string,
  script: readonly Step[],
): Promise<Model> {
  const file = path.join(where.dir, 'script.json');
  const record = path.join(where.dir, 'record.jsonl');
  await writeFile(file, JSON.stringify(script));
  const pid = await pidInside(where, session);
  const child = spawn(
    'nsenter',
    [
      `--net=/proc/${pid}/ns/net`,
      process.execPath,
      program,
      '--listen',
      address,
      '--script',
      file,
      '--record',
      record,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  t.after(() => child.kill());
  await seen(child.stdout, /ready/);
  const requests = async (): Promise<Recorded[]> =>
    existsSync(record)
      ? (await readFile(record, 'utf8'))
          .split('\n')
          // After the last end of a line stands nothing, or a line that is still being written.
          .slice(0, -1)
          .map((line) => JSON.parse(line) as Recorded)
      : [];
  return {
    requests,
    until: (what, predicate) => until(what, async () => (await requests()).find(predicate) ?? null, patience),
  };
}

/** Pid of some process inside the session's runtime: one in another network namespace with the relay's folder mounted. */
async function pidInside(where: Place, name: string): Promise<number> {
  const own = await readlink('/proc/self/ns/net');
  const inside = `${where.env['XDG_RUNTIME_DIR']}/wraptool/${name}/socket`;
  return until(
    `a process inside ${name}`,
    async () => {
      for (const entry of await readdir('/proc')) {
        if (!/^\d+$/.test(entry)) continue;
        try {
          const mounts = await readFile(`/proc/${entry}/mountinfo`, 'utf8');
          const here = mounts.includes(`${inside.slice(inside.indexOf('/wraptool-e2e'))} /run/wraptool `);
          if (here && (await readlink(`/proc/${entry}/ns/net`)) !== own) return Number(entry);
        } catch (error) {
          if (!['ENOENT', 'ESRCH', 'EINVAL'].includes((error as NodeJS.ErrnoException).code ?? ''))
            throw error;
        }
      }
      return null;
    },
    patience,
  );
}
