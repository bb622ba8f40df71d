/**
 * The first program in a bubblewrap session. It holds the sandbox open, starts the harness on its own streams and other
 * commands on frames, and ends with the socket: nothing can outlive wraptool. All that it starts is as confined as it is.
 * Usage: main.ts FD [ERRORS-FD]: its socket, and what it hands on as standard error instead of its own.
 */
import { lstatSync } from 'node:fs';
import { Socket } from 'node:net';
import { Command } from './command.ts';
import { frame, FrameReader, kinds, type Folder, type Frame, type Start } from './frames.ts';

const socket = new Socket({ fd: Number(process.argv[2]), readable: true, writable: true });
const errorsFd = Number(process.argv[3] ?? 2);
const reader = new FrameReader();
const commands = new Map<number, Command>();

// The terminal's signals are for the harness, which is in this group too.
for (const name of ['SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => undefined);

socket.on('data', (chunk: Buffer) => reader.push(chunk).forEach(handle));
socket.on('close', () => process.exit(1));
socket.on('error', () => process.exit(1));

function handle({ kind, id, bytes }: Frame): void {
  if (kind === kinds.start) begin(id, JSON.parse(bytes.toString()) as Start);
  else if (kind === kinds.verify)
    socket.write(frame(kinds.verify, id, JSON.stringify({ bad: differing(bytes.toString()) })));
  else if (kind === kinds.input) commands.get(id)?.input(bytes);
  else if (kind === kinds.inputEnd) commands.get(id)?.inputEnd();
  else if (kind === kinds.signal) commands.get(id)?.signal(bytes.toString() as NodeJS.Signals);
}

function begin(id: number, start: Start): void {
  const command = new Command(start, errorsFd, {
    send: (kind, bytes) => socket.write(frame(kinds[kind], id, bytes)),
    drained: (resume) => void socket.once('drain', resume),
    ended: (code) => {
      commands.delete(id);
      socket.write(frame(kinds.exit, id, JSON.stringify({ code })));
    },
  });
  commands.set(id, command);
}

/** The first folder that is not the one that wraptool judged. */
function differing(list: string): string | null {
  for (const { path, dev, ino } of JSON.parse(list) as Folder[]) {
    const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    if (String(stats?.dev) !== dev || String(stats?.ino) !== ino) return path;
  }
  return null;
}
