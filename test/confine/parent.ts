/** Starts a sandbox with a stubborn process in it and prints the pids of its own descendants. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { spawnConfined } from '../../src/confine/spawn.ts';
import type { ConfineSpec } from '../../src/confine/types.ts';
import { base } from './support.ts';

const network = process.argv[2] as ConfineSpec['network'];
const script = 'trap "" TERM HUP INT; setsid sleep 1000 & echo up; wait';
const { child } = await spawnConfined({ ...base, network }, ['/bin/sh', '-c', script], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
await once(child.stdout!, 'data');
console.log(descendants(process.pid).join(' '));

function descendants(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    .split(' ')
    .filter(Boolean)
    .map(Number);
  return children.flatMap((child) => [child, ...descendants(child)]);
}
