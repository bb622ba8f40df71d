/** How many processes the kernel has ended in a process's control group for want of memory. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';

/** `root` is where the control groups are mounted. Null where the kernel does not tell. */
export async function memoryKills(pid: number, root = '/sys/fs/cgroup'): Promise<number | null> {
  const groups = await textOf(`/proc/${pid}/cgroup`);
  for (const file of groups === null ? [] : filesFor(groups, root)) {
    const count = /^oom_kill (\d+)$/m.exec((await textOf(file)) ?? '')?.[1];
    if (count !== undefined) return Number(count);
  }
  return null;
}

/** Of each hierarchy that counts memory: version 1 names it, version 2 has one for all. */
function filesFor(groups: string, root: string): string[] {
  return groups.split('\n').flatMap((line) => {
    const [, controllers, group] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    if (controllers === undefined || group === undefined) return [];
    if (controllers.split(',').includes('memory'))
      // In a container its own group is the mount's root.
      return [group, '/'].map((dir) => path.join(root, 'memory', dir, 'memory.oom_control'));
    if (controllers !== '') return [];
    return [group, '/'].flatMap((dir) =>
      ['memory.events.local', 'memory.events'].map((name) => path.join(root, dir, name)),
    );
  });
}

async function textOf(file: string): Promise<string | null> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    return null;
  }
}
