import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { WraptoolError } from '../errors.ts';
import { privateResolver } from './command.ts';
import { findProgram, program, systemPath } from './program.ts';

/** A running user-mode network; it ends by itself when this process dies. */
export type Network = { readonly name: string; stop(): Promise<void> };

const timeoutMs = 15_000;

/**
 * Gives the empty network namespace of `pid` a way out, with the host's loopback out of reach.
 * Throws network_unavailable with what the helper said; there is no other network to fall back to.
 */
export async function connectNetwork(pid: number): Promise<Network> {
  // As root pasta turns into nobody, who may not enter the namespace; as a user slirp4netns can't sandbox itself.
  const [name, start] =
    process.getuid?.() === 0 ? (['slirp4netns', startSlirp] as const) : (['pasta', startPasta] as const);
  const path = findProgram(name);
  if (path === null) throw unavailable(name, 'it is not installed');
  return await start(path, pid);
}

function unavailable(name: string, reason: string): WraptoolError {
  const means = name === 'pasta' ? 'install passt and let users open /dev/net/tun' : 'install slirp4netns';
  return new WraptoolError('network_unavailable', `no private network: ${name}: ${reason}`, {
    hint: `${means}, or choose network 'none' or 'host'`,
  });
}

/** Its exit descriptor is a socket whose other end only this process holds. */
async function startSlirp(path: string, pid: number): Promise<Network> {
  const closed = ['--disable-host-loopback', '--enable-sandbox', '--enable-seccomp'];
  const args = ['--configure', '--mtu=65520', ...closed, '--exit-fd=3', '--ready-fd=4', String(pid), 'tap0'];
  const child = spawn(path, args, {
    stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'],
    env: { PATH: systemPath },
    cwd: '/',
    detached: true,
  });
  await settled('slirp4netns', child, child.stdio[4] as Readable);
  return { name: 'slirp4netns', stop: () => ended(child) };
}

/** pasta goes to the background once the network is up and would outlive it: this shell ends it with its own input. */
const watchPasta = `
folder=$1; shift
"$@" || exit 1
pid=$(cat "$folder/pid"); rm -r "$folder"
echo ready
read -r _
kill "$pid"`;

async function startPasta(path: string, pid: number): Promise<Network> {
  const folder = await mkdtemp(join(tmpdir(), 'wraptool-pasta-'));
  const closed = ['--no-map-gw', '-t', 'none', '-u', 'none', '-T', 'none', '-U', 'none'];
  const args = [
    '--quiet',
    '--config-net',
    ...closed,
    '--dns-forward',
    privateResolver,
    '-P',
    join(folder, 'pid'),
  ];
  const child = spawn(program('sh'), ['-c', watchPasta, 'sh', folder, path, ...args, String(pid)], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { PATH: systemPath },
    cwd: '/',
    detached: true,
  });
  try {
    await settled('pasta', child, child.stdout);
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
  return { name: 'pasta', stop: () => ended(child) };
}

/** Waits for the first byte; an early end or too long a wait is the helper's failure, its last line the reason. */
async function settled(name: string, child: ChildProcess, ready: Readable): Promise<void> {
  let said = '';
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-2000);
  });
  const { promise: outcome, resolve } = Promise.withResolvers<string | null>();
  const timer = setTimeout(resolve, timeoutMs, 'it took too long');
  child.once('error', (error) => resolve(error.message));
  child.once('close', (code, signal) => resolve(`it ended with ${String(code ?? signal)}`));
  ready.once('data', () => resolve(null));
  const failure = await outcome;
  clearTimeout(timer);
  if (failure === null) return;
  child.kill('SIGKILL');
  throw unavailable(name, lastLine(said) ?? failure);
}

function lastLine(text: string): string | null {
  const lines = text.split('\n').filter((line) => line.trim() !== '' && !line.includes('syslog'));
  return lines.at(-1)?.trim() ?? null;
}

/** Both end when the other end of a descriptor closes: the same thing that our death does. */
async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const closed = once(child, 'exit');
  for (const stream of child.stdio) stream?.destroy();
  await closed;
}
