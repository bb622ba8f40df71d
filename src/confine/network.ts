import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { WraptoolError } from '../errors.ts';
import { privateResolver } from './command.ts';
import { findProgram, systemPath } from './program.ts';

/** A running user-mode network; it ends by itself when this process dies. */
export type Network = { readonly name: string; stop(): Promise<void> };

type Helper = { readonly name: string; readonly start: (path: string, pid: number) => Promise<Network> };

const timeoutMs = 15_000;

/**
 * Gives the empty network namespace of `pid` a way out, with the host's loopback out of reach.
 * Throws network_unavailable with what each helper said; there is no other network to fall back to.
 */
export async function connectNetwork(pid: number): Promise<Network> {
  const reasons: string[] = [];
  for (const helper of helpers()) {
    const path = findProgram(helper.name);
    if (path === null) {
      reasons.push(`${helper.name}: not installed`);
      continue;
    }
    try {
      return await helper.start(path, pid);
    } catch (error) {
      if (!(error instanceof HelperFailed)) throw error;
      reasons.push(`${helper.name}: ${error.message}`);
    }
  }
  throw new WraptoolError('network_unavailable', `no private network can be made (${reasons.join('; ')})`, {
    hint: "install slirp4netns and let users open /dev/net/tun, or write 'network: none' or 'network: host'",
  });
}

class HelperFailed extends Error {}

function helpers(): Helper[] {
  const slirp: Helper = { name: 'slirp4netns', start: startSlirp };
  // As root pasta turns into nobody, who may not enter the namespace.
  return process.getuid?.() === 0 ? [slirp] : [slirp, { name: 'pasta', start: startPasta }];
}

/** Its exit descriptor is the other end of a socket that only this process holds. */
async function startSlirp(path: string, pid: number): Promise<Network> {
  const args = [
    '--configure',
    '--mtu=65520',
    '--disable-host-loopback',
    '--enable-sandbox',
    '--enable-seccomp',
  ];
  if (process.getuid?.() !== 0) args.push(`--userns-path=/proc/${pid}/ns/user`);
  args.push('--exit-fd=3', '--ready-fd=4', String(pid), 'tap0');
  const child = spawn(path, args, {
    stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'],
    env: { PATH: systemPath },
    cwd: '/',
    detached: true,
  });
  const ready = child.stdio[4] as Readable;
  await settled(child, once(ready, 'data'));
  return { name: 'slirp4netns', stop: () => ended(child) };
}

/** Without -f it goes to the background once the network is up, and ends when the namespace does. */
async function startPasta(path: string, pid: number): Promise<Network> {
  const closed = ['-t', 'none', '-u', 'none', '-T', 'none', '-U', 'none'];
  const args = [
    '--quiet',
    '--config-net',
    '--no-map-gw',
    ...closed,
    '--dns-forward',
    privateResolver,
    '-f',
    String(pid),
  ];
  const child = spawn(path, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { PATH: systemPath },
    cwd: '/',
    detached: true,
  });
  await settled(child, Promise.resolve());
  return { name: 'pasta', stop: () => ended(child) };
}

/** Waits for readiness; an early end or too long a wait is the helper's failure, with its last line as the reason. */
async function settled(child: ChildProcess, ready: Promise<unknown>): Promise<void> {
  let said = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-2000)));
  const timer = new AbortController();
  const failed = Promise.race([
    once(child, 'close').then(([code, signal]) => `ended with ${String(code ?? signal)}`),
    once(child, 'error', { signal: timer.signal }).then(([error]) => String(error)),
    new Promise<string>((resolve) => setTimeout(resolve, timeoutMs, 'took too long').unref()),
  ]);
  const outcome = await Promise.race([ready.then(() => null), failed]);
  if (outcome === null) return;
  child.kill('SIGKILL');
  throw new HelperFailed(said.trim().split('\n').at(-1) || outcome);
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const closed = once(child, 'exit');
  child.kill('SIGTERM');
  await closed;
}
