import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { promisify } from 'node:util';
import { WraptoolError } from '../errors.ts';
import { findProgram, systemPath } from './program.ts';
import { spawnConfined } from './spawn.ts';
import type { Availability, ConfineSpec } from './types.ts';

/**
 * Whether bubblewrap confines here: runs `true` in the strictest sandbox, and only when that fails looks for why.
 * `user` is the owner that root would drop to.
 */
export async function confinementAvailable(user?: ConfineSpec['user']): Promise<Availability> {
  if (process.platform !== 'linux') {
    return {
      ok: false,
      reason: `bubblewrap needs Linux, this is ${process.platform}`,
      hint: 'use a Linux machine',
    };
  }
  const bwrap = findProgram('bwrap');
  if (bwrap === null) {
    return {
      ok: false,
      reason: `there is no 'bwrap' in ${systemPath}`,
      hint: 'install it: apt-get install bubblewrap',
    };
  }
  // Side by side; a version that cannot be told matters only where it works.
  const [failure, version] = await Promise.allSettled([tryIt(user), versionOf(bwrap)]);
  if (failure.status === 'rejected') throw failure.reason;
  if (failure.value !== null) return explain(bwrap, failure.value);
  if (version.status === 'rejected') throw version.reason;
  return { ok: true, version: version.value };
}

const strictest: ConfineSpec = {
  readOnly: [],
  writable: [],
  cwd: '/tmp',
  env: {},
  network: 'none',
  terminal: false,
};

/** Null when it ran, else the last thing that was said. */
async function tryIt(user: ConfineSpec['user']): Promise<string | null> {
  try {
    const spec = user === undefined ? strictest : { ...strictest, user };
    const { child, exit } = await spawnConfined(spec, ['/usr/bin/true'], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    const code = await exit.catch((error: unknown) => (said.trim() === '' ? String(error) : 1));
    return code === 0 ? null : said.trim().split('\n').at(-1) || `it ended with ${code}`;
  } catch (error) {
    if (error instanceof WraptoolError) return error.message;
    throw error;
  }
}

async function versionOf(bwrap: string): Promise<string> {
  const { stdout } = await promisify(execFile)(bwrap, ['--version'], { env: { PATH: systemPath } });
  return stdout.trim().split(' ').at(-1) ?? stdout.trim();
}

async function explain(bwrap: string, failure: string): Promise<Availability> {
  const no = (hint: string): Availability => ({ ok: false, reason: `bubblewrap failed: ${failure}`, hint });
  if ((await setting('user/max_user_namespaces')) === '0') {
    return no('user namespaces are switched off: set the sysctl user.max_user_namespaces above 0');
  }
  if ((await setting('kernel/unprivileged_userns_clone')) === '0') {
    return no('user namespaces are closed to users: set the sysctl kernel.unprivileged_userns_clone to 1');
  }
  if ((await setting('kernel/apparmor_restrict_unprivileged_userns')) === '1') {
    return no(
      'AppArmor restricts user namespaces: add a profile for bwrap with "userns," in /etc/apparmor.d',
    );
  }
  if (((await stat(bwrap)).mode & 0o4000) !== 0) {
    return no(`${bwrap} is setuid, which is no longer needed: remove the bit, or update bubblewrap`);
  }
  if (failure.includes('No space left')) {
    return no('the limit of user namespaces is used up: raise the sysctl user.max_user_namespaces');
  }
  if (failure.includes('No permissions to create new namespace') || (await inContainer())) {
    return no('this looks like a container that forbids namespaces: run on the host, or allow them there');
  }
  return no(`run '${bwrap} --unshare-user --unshare-pid --ro-bind / / true' to see it alone`);
}

async function setting(name: string): Promise<string | null> {
  const text = await readIfThere(`/proc/sys/${name}`);
  return text === null ? null : text.trim();
}

async function inContainer(): Promise<boolean> {
  return (await readIfThere('/.dockerenv')) !== null || (await readIfThere('/run/.containerenv')) !== null;
}

async function readIfThere(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
