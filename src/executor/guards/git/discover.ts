/** The remotes that a repository names, read in the box: a proposal for the operator, never used unless he confirms it. */
import { statSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { program } from '../../../confine/program.ts';
import { spawnConfined } from '../../../confine/spawn.ts';
import type { SharedFolder } from '../../types.ts';
import { boxEnvironment } from './environment.ts';
import { parseUrl } from './remotes.ts';

const mostBytes = 256 * 1024;
const mostMs = 10_000;
const GiB = 1024 ** 3;

/**
 * @returns name to URL, of those whose fetch address is https, http, ssh or user@host:path; empty when there is no
 *   repository or it does not answer within ten seconds
 * @throws WraptoolError confine_unavailable
 */
export async function discoverRemotes(
  workspace: string,
  shared: readonly SharedFolder[] = [],
): Promise<Record<string, string>> {
  const root = await realpath(workspace);
  const { uid, gid } = statSync(root);
  const confined = await spawnConfined(
    {
      readOnly: [root, ...shared.map((folder) => folder.path)].map((path) => ({
        source: path,
        target: path,
      })),
      writable: [],
      cwd: root,
      env: boxEnvironment({}, '/dev/null'),
      network: 'none',
      terminal: false,
      ...(process.getuid?.() === 0 && uid !== 0 ? { user: { uid, gid } } : {}),
      limits: { addressSpaceBytes: 2 * GiB, cpuSeconds: 10, processes: 32, tmpBytes: GiB / 16 },
    },
    [program('git'), 'config', '--local', '--includes', '-z', '--get-regexp', String.raw`^remote\..*\.url$`],
    { stdio: ['ignore', 'pipe', 'ignore'] },
  );
  const timer = setTimeout(() => void confined.stop(), mostMs);
  let text = '';
  for await (const chunk of confined.child.stdout!.setEncoding('utf8') as AsyncIterable<string>) {
    text += chunk;
    if (text.length > mostBytes) break;
  }
  clearTimeout(timer);
  await confined.stop();
  return text.length > mostBytes ? {} : readRemotes(text);
}

function readRemotes(text: string): Record<string, string> {
  const remotes: Record<string, string> = Object.create(null);
  for (const entry of text.split('\0')) {
    const at = entry.indexOf('\n');
    const name = entry.slice('remote.'.length, at - '.url'.length);
    const url = entry.slice(at + 1);
    // The first address is what git fetches from.
    if (at === -1 || name in remotes || !/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(name)) continue;
    if (parseUrl(name, url, { allowFile: false }) !== null) remotes[name] = url;
  }
  return { ...remotes };
}
