/** The processes of a tethered guix: bubblewrap, guix, and the container's first one. What they say before it is up. */
import { readFile } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type { Confined } from '../../confine/spawn.ts';
import { processRef, signal, waitForEnd, type ProcessRef } from '../../supervise/process.ts';
import { plain } from './guix-errors.ts';

const keptCharacters = 16 * 1024;
const stopMs = 5000;
/** No longer than this without a word. */
const silenceMs = 2000;

/**
 * What guix says until its container is there; from then on the harness could write there too, and nothing is looked at.
 * Each line is progress: of a first start, that is what is downloaded and built. While guix is silent, its last one is
 * said again with the time that has passed.
 */
export class Said {
  #text = '';
  #over = false;
  readonly #tick: NodeJS.Timeout;

  constructor(stream: Readable, progress: (line: string) => void) {
    const began = performance.now();
    let last = 'guix prepares the profile';
    this.#tick = setInterval(
      () => progress(`${last} (${Math.round((performance.now() - began) / 1000)} s)`),
      silenceMs,
    );
    stream.on('close', () => clearInterval(this.#tick));
    stream.setEncoding('utf8').on('data', (piece: string) => {
      if (this.#over) return;
      this.#text = (this.#text + piece).slice(-keptCharacters);
      const line = plain(piece).trim().split('\n').at(-1)?.trim() ?? '';
      if (line === '') return;
      last = line;
      progress(line);
    });
  }

  get text(): string {
    return this.#text;
  }
  get over(): boolean {
    return this.#over;
  }

  end(): void {
    clearInterval(this.#tick);
    this.#over = true;
  }
}

/** The container's first process as the host sees it: guix's only child, guix being bubblewrap's. Null: not there yet. */
export async function firstProcess(sandbox: Confined): Promise<ProcessRef | null> {
  const guix = await childOf(sandbox.child.pid);
  const first = await childOf(guix);
  return first === undefined ? null : processRef(first);
}

/**
 * Ends everything. The container's first process goes before guix, which then ends by itself; without it guix and what it
 * was making go. Resolves when nothing is left.
 */
export async function endContainer(sandbox: Confined, first: ProcessRef | null): Promise<void> {
  if (first !== null) await signal(first, 'SIGKILL');
  await sandbox.stop();
  if (first !== null) await waitForEnd(first, stopMs);
}

async function childOf(pid: number | undefined): Promise<number | undefined> {
  if (pid === undefined) return undefined;
  try {
    const [child] = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim().split(' ');
    return child === undefined || child === '' ? undefined : Number(child);
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}
