import { text } from 'node:stream/consumers';
import { spawnConfined } from '../../src/confine/spawn.ts';
import type { ConfineSpec } from '../../src/confine/types.ts';

export const base: ConfineSpec = {
  readOnly: [],
  writable: [],
  cwd: '/tmp',
  env: { PATH: '/usr/bin:/bin' },
  network: 'none',
  terminal: false,
};

export type Ran = { readonly code: number; readonly stdout: string; readonly stderr: string };

/** Runs a command in a sandbox to its end. */
export async function confined(spec: Partial<ConfineSpec>, ...command: string[]): Promise<Ran> {
  const { child, exit } = await spawnConfined({ ...base, ...spec }, command, {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [code, stdout, stderr] = await Promise.all([exit, text(child.stdout!), text(child.stderr!)]);
  return { code, stdout, stderr };
}

export async function sh(spec: Partial<ConfineSpec>, script: string): Promise<Ran> {
  return await confined(spec, '/bin/sh', '-c', script);
}
