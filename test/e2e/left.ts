/** What a session left on this machine. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Place } from './place.ts';

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'latin1');
  } catch (error) {
    if (['ENOENT', 'ESRCH', 'EACCES', 'EINVAL'].includes((error as NodeJS.ErrnoException).code ?? ''))
      return '';
    throw error;
  }
}

/** Processes of the place: its folder is in their command line, their environment or their mounts. */
async function processesOf(where: Place): Promise<string[]> {
  const found: string[] = [];
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    if (pid === String(process.pid)) continue;
    const texts = await Promise.all(
      ['cmdline', 'environ', 'mountinfo'].map((name) => textOf(`/proc/${pid}/${name}`)),
    );
    const line = (texts[0] ?? '').replaceAll('\0', ' ');
    if (texts.some((text) => text.includes(where.dir))) found.push(`${pid} ${line.slice(0, 200)}`);
    // The network's helper knows of the place only the process that it serves.
    const served = /^\S*slirp4netns .* (\d+) tap0 $/.exec(line)?.[1];
    if (served !== undefined && !existsSync(`/proc/${served}`)) found.push(`${pid} ${line}`);
  }
  return found;
}

async function containersOf(name: string): Promise<string[]> {
  const list = ['ps', '-aq', '--filter', `label=wraptool.session=${name}`];
  const { stdout } = await promisify(execFile)('docker', list);
  return stdout.split('\n').filter((line) => line !== '');
}

/** Processes, mounts among them, session folders, and with `docker` containers; one line each. */
export async function leftOf(where: Place, name: string, docker: boolean): Promise<string[]> {
  const run = path.join(where.env['XDG_RUNTIME_DIR'] ?? '', 'wraptool');
  return [
    ...(await processesOf(where)),
    ...(existsSync(run) ? await readdir(run) : []),
    ...(docker ? await containersOf(name) : []),
  ];
}
