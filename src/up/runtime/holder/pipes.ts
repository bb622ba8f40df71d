/** Real pipes for a command's streams. Node makes socket pairs, which nobody can open as /dev/stderr or /dev/stdout. */
import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, rmSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import type { Start } from './frames.ts';

const { O_NONBLOCK, O_RDONLY, O_RDWR, O_WRONLY } = constants;

export type Pipes = {
  /** For spawn: descriptors of ours. */
  readonly stdio: number[];
  /** Our ends; null where the command has the holder's own stream. */
  readonly stdin: Socket | null;
  readonly stdout: Socket | null;
  readonly stderr: Socket | null;
  /** Closes the command's ends, once it has them. */
  handedOver(): void;
};

/** `errorsFd`: what stands for the holder's own standard error. Throws what `mkfifo` and the private /tmp say where they fail. */
export function openPipes(wanted: Start['stdio'], errorsFd: number): Pipes {
  const own = [0, 1, errorsFd];
  if (wanted.every((kind) => kind === 'inherit'))
    return { stdio: own, stdin: null, stdout: null, stderr: null, handedOver: () => undefined };
  const folder = mkdtempSync('/tmp/.wraptool-');
  try {
    const names = wanted.map((_kind, index) => join(folder, String(index)));
    execFileSync('mkfifo', names, { stdio: ['ignore', 'ignore', 'pipe'] });
    const ends = wanted.map((kind, index) => (kind === 'pipe' ? openEnds(names[index]!, index === 0) : null));
    const [stdin, stdout, stderr] = ends.map((end) => (end === null ? null : end.ours));
    return {
      stdio: ends.map((end, index) => end?.theirs ?? own[index]!),
      stdin: stdin ?? null,
      stdout: stdout ?? null,
      stderr: stderr ?? null,
      handedOver: () => ends.forEach((end) => end !== null && closeSync(end.theirs)),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Opened for both at first: an end of a FIFO alone would wait for the other one. */
function openEnds(name: string, isInput: boolean): { ours: Socket; theirs: number } {
  const both = openSync(name, O_RDWR | O_NONBLOCK);
  try {
    const [our, their] = isInput ? [O_WRONLY, O_RDONLY] : [O_RDONLY, O_WRONLY];
    const fd = openSync(name, our | O_NONBLOCK);
    return { ours: new Socket({ fd, readable: !isInput, writable: isInput }), theirs: openSync(name, their) };
  } finally {
    closeSync(both);
  }
}
