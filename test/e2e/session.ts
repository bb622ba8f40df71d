/** A running session of one end-to-end test, in either runtime. */
import type { ChildProcess } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { pathWithGuix } from '../support/guix.ts';
import { ensureTestImage } from '../support/image.ts';
import { finish, gitConfig, place, seen, type Place, type Result } from './place.ts';

export const runtimes = [
  { name: 'bubblewrap', part: 'bubblewrap' },
  { name: 'devcontainer', part: 'docker' },
] as const;

export const allRuntimes = [{ name: 'guix', part: 'guix' }, ...runtimes] as const;

export type Live = {
  readonly where: Place;
  readonly child: ChildProcess;
  /** Folder of the session. */
  readonly dir: string;
  /** Ends it and gives what `up` said and ended with. */
  readonly end: () => Promise<Result>;
};

/** A config without a network that stands on the tests' own image. */
export async function readyPlace(t: TestContext, runtime: string): Promise<Place> {
  if (runtime === 'devcontainer') ensureTestImage();
  const where = await place(t);
  if (runtime === 'guix') where.env['PATH'] = pathWithGuix(where.env['PATH']);
  await where.writeConfig(`${gitConfig}up: { base_image: wraptool-test-base, network: none }\n`);
  return where;
}

export function dirOf(where: Place, name: string): string {
  return path.join(where.env['XDG_RUNTIME_DIR'] ?? '', 'wraptool', name);
}

/** Starts a session whose harness says that it is ready and waits for its end; ends it with the test. */
export async function live(
  t: TestContext,
  runtime: string,
  options: {
    name?: string;
    where?: Place;
    workspace?: string;
    script?: string;
    env?: Record<string, string>;
    /** Further options of `up`. */
    up?: readonly string[];
  } = {},
): Promise<Live> {
  const { name = 'life', script = 'echo harness-is-ready; sleep 600' } = options;
  const where = options.where ?? (await readyPlace(t, runtime));
  const folder = options.workspace ?? where.workspace;
  const args = [
    'up',
    'shell',
    '--runtime',
    runtime,
    '--name',
    name,
    '--workspace',
    folder,
    ...(options.up ?? []),
    '--',
    '-c',
    script,
  ];
  const child = where.start(args, options.env === undefined ? {} : { env: options.env });
  let errors = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const result = finish(child, '');
  t.after(async () => {
    child.kill('SIGTERM');
    await result;
  });
  await seen(child.stdout, /harness-is-ready/).catch((error: Error) => {
    throw new Error(`${error.message}\n${errors}`);
  });
  return {
    where,
    child,
    dir: dirOf(where, name),
    end: async () => {
      child.kill('SIGTERM');
      return result;
    },
  };
}

/** Pids of processes of the machine, containers' too, whose command line holds the marker. */
export async function withMarker(marker: string): Promise<number[]> {
  const found: number[] = [];
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      if ((await readFile(`/proc/${entry}/cmdline`, 'utf8')).includes(marker)) found.push(Number(entry));
    } catch (error) {
      if (!['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    }
  }
  return found;
}

let count = 0;
/** Seconds to sleep that no other process sleeps. */
export function oddSeconds(): string {
  return `${process.pid}${(count += 1)}.25`;
}
