/** The operator's own bare repository for a workspace: the only one in which git runs with the operator's rights. */
import { mkdir, readdir, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { StepOptions, StepResult } from '../guard.ts';
import { program } from '../../../confine/program.ts';
import { boxedServer, live, share, type Context } from './box.ts';
import { hostEnvironment } from './environment.ts';
import { Ended } from './refusal.ts';
import type { Pinned } from './remotes.ts';

export type ObjectFormat = 'sha1' | 'sha256';
type Repository = { readonly path: string; readonly format: ObjectFormat };

/** Opens (at first makes) the repository that is kept from call to call: refs/remotes/NAME/… and refs/tags-of/NAME/…. */
export async function openPrivate(context: Context, format: ObjectFormat): Promise<Repository> {
  const path = join(context.call.guardOptions.stateDir, `private-${format}.git`);
  if (!existsSync(path)) {
    const fresh = `${path}.${randomBytes(6).toString('hex')}`;
    await makeBare(fresh, format, null);
    try {
      await rename(fresh, path);
    } catch (error) {
      // Another call was first.
      if (!['ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
      await rm(fresh, { recursive: true });
    }
  }
  return { path, format };
}

/** A repository for one call: it has the kept one's objects, and only the refs that the call needs. */
export async function openForCall(context: Context, kept: Repository): Promise<Repository> {
  const path = join(context.folder, 'call.git');
  await makeBare(path, kept.format, kept.path);
  return { path, format: kept.format };
}

async function makeBare(path: string, format: ObjectFormat, objectsOf: string | null): Promise<void> {
  const version = format === 'sha1' ? 0 : 1;
  const extension = format === 'sha1' ? '' : '[extensions]\n\tobjectFormat = sha256\n';
  for (const folder of ['objects/info', 'objects/pack', 'refs/heads']) {
    await mkdir(join(path, folder), { recursive: true, mode: 0o700 });
  }
  await writeFile(
    join(path, 'config'),
    `[core]\n\trepositoryFormatVersion = ${version}\n\tbare = true\n${extension}`,
  );
  if (objectsOf !== null) await writeFile(join(path, 'objects/info/alternates'), `${objectsOf}/objects\n`);
  await writeFile(join(path, 'HEAD'), 'ref: refs/heads/none\n');
}

export type HostOptions = StepOptions & {
  readonly protocols?: string;
  readonly pins?: readonly (readonly [string, string])[];
  /** What comes in is the workspace's: no more memory and disk than this, for each process. */
  readonly bounded?: boolean;
};

const mostBytes = 4 * 1024 ** 3;

/** Runs git with the operator's rights in one of these repositories. @throws Ended when the call's time is up. */
export async function hostGit(
  context: Context,
  repository: Repository,
  argv: readonly string[],
  options: HostOptions = {},
): Promise<StepResult> {
  const { call, host } = context;
  const env = hostEnvironment(call.env, {
    protocols: options.protocols ?? '',
    ...(options.pins === undefined ? {} : { pins: options.pins }),
  });
  const words = [`--git-dir=${repository.path}`, ...argv];
  const run =
    options.bounded === true
      ? { binary: program('prlimit'), argv: [...limits(call.timeoutMs), call.binary.path, ...words] }
      : { binary: call.binary.path, argv: words };
  return live(await host.exec({ kind: 'host', ...run, env, cwd: repository.path }, options));
}

function limits(timeoutMs: number): string[] {
  const seconds = Math.ceil(timeoutMs / 1000) + 5;
  return [`--as=${mostBytes}`, `--fsize=${mostBytes}`, `--cpu=${seconds}`, '--core=0', '--'];
}

/** As hostGit. @throws Ended with git's own words shown, when it fails. */
export async function mustGit(
  context: Context,
  repository: Repository,
  argv: readonly string[],
  options: HostOptions = {},
): Promise<StepResult> {
  const result = await hostGit(context, repository, argv, options);
  if (result.exitCode === 0) return result;
  context.host.write('stderr', result.stderr.toString('utf8'));
  throw new Ended(result);
}

/** Where git goes for a pinned remote, and what it may speak. One inside the workspace is served from the box. */
export async function route(
  context: Context,
  remote: Pinned,
): Promise<{ url: string; push: string; protocols: string }> {
  const { workspace, shared = [] } = context.call.guardOptions;
  const path = remote.path === null ? null : await resolved(remote.path);
  const inside = [workspace, ...shared.map((folder) => folder.path)].some(
    (root) => path !== null && (path === root || path.startsWith(`${root}/`)),
  );
  if (!inside) return { url: remote.url, push: remote.url, protocols: remote.protocol };
  const git = context.call.binary.path;
  return {
    url: await boxedServer(context, [git, 'upload-pack', path!]),
    push: await boxedServer(context, [git, 'receive-pack', path!]),
    protocols: 'ext',
  };
}

/** The folder itself, wherever links lead: a link into the workspace is a place in the workspace. */
async function resolved(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return path;
    throw error;
  }
}

const quietFetch = [
  'fetch',
  '--no-tags',
  '--no-auto-maintenance',
  '--no-write-fetch-head',
  '--no-recurse-submodules',
  '--refmap=',
  '--force',
  '--quiet',
];

/** Fetches from the pinned address into the kept repository. Returns git's result; a failure is the caller's to show. */
export async function fetchPinned(
  context: Context,
  kept: Repository,
  remote: Pinned,
  refspecs: readonly string[],
  options: { readonly prune: boolean },
): Promise<StepResult> {
  const { url, protocols } = await route(context, remote);
  const prune = options.prune ? ['--prune'] : [];
  const result = await hostGit(context, kept, [...quietFetch, ...prune, '--', url, ...refspecs], {
    protocols,
  });
  return { ...result, stderr: Buffer.from(result.stderr.toString('utf8').replaceAll(url, remote.url)) };
}

/** All branches and tags of the remote, as they are there. */
export function mirrorOf(remote: Pinned): string[] {
  return [`+refs/heads/*:refs/remotes/${remote.name}/*`, `+refs/tags/*:refs/tags-of/${remote.name}/*`];
}

/**
 * Takes objects out of the workspace: its upload-pack runs in the box, the operator's git speaks to it as to a stranger.
 * What arrives is checked, and named `refs/from-workspace/…` in the call's repository until the call ends.
 */
export async function importObjects(
  context: Context,
  kept: Repository,
  gitDir: string,
  ids: readonly string[],
  fallback: Pinned | null,
): Promise<void> {
  const url = await boxedServer(context, [context.call.binary.path, 'upload-pack', gitDir], {
    pins: [['uploadpack.allowAnySHA1InWant', 'true']],
  });
  const name = context.folder.slice(-16);
  const refspecs = ids.map((id) => `+${id}:refs/from-workspace/${name}/${id}`);
  const attempt = () =>
    hostGit(context, kept, [...quietFetch, '--', url, ...refspecs], {
      protocols: 'ext',
      bounded: true,
      pins: [['fetch.fsckObjects', 'true']],
    });
  let result = await attempt();
  if (result.exitCode !== 0 && fallback !== null) {
    // A shallow or partial workspace lacks what the remote has: with that at hand only the new is asked for.
    const fetched = await fetchPinned(context, kept, fallback, mirrorOf(fallback), { prune: true });
    if (fetched.exitCode === 0) result = await attempt();
  }
  if (result.exitCode === 0) return;
  await dropUnfinished(kept);
  context.host.write('stderr', result.stderr.toString('utf8').replaceAll(url, 'the workspace'));
  throw new Ended(result);
}

/** What an index-pack that ended early leaves behind. */
async function dropUnfinished(kept: Repository): Promise<void> {
  const folder = join(kept.path, 'objects/pack');
  const unfinished = (await readdir(folder)).filter((name) => name.startsWith('tmp_'));
  for (const name of unfinished) await rm(join(folder, name), { force: true });
}

/** Forgets the names that importObjects gave. */
export async function dropImports(context: Context, kept: Repository, ids: readonly string[]): Promise<void> {
  const name = context.folder.slice(-16);
  const lines = ids.map((id) => `delete refs/from-workspace/${name}/${id}\n`);
  await hostGit(context, kept, ['update-ref', '--stdin'], { stdin: Buffer.from(lines.join('')) });
}

/** Names and ids below folders of refs. */
export async function refsOf(
  context: Context,
  repository: Repository,
  ...folders: string[]
): Promise<Map<string, string>> {
  const { stdout } = await mustGit(
    context,
    repository,
    ['for-each-ref', '--format=%(objectname) %(refname)', ...folders],
    {
      maxBytes: 64 * 1024 * 1024,
    },
  );
  const lines = stdout.toString('utf8').split('\n').filter(Boolean);
  return new Map(lines.map((line) => [line.slice(line.indexOf(' ') + 1), line.slice(0, line.indexOf(' '))]));
}

/** Which of these objects the repository has. */
export async function known(
  context: Context,
  repository: Repository,
  ids: Iterable<string>,
): Promise<Set<string>> {
  const { stdout } = await mustGit(
    context,
    repository,
    ['cat-file', '--batch-check=%(objectname) %(objecttype)'],
    {
      stdin: Buffer.from([...ids].map((id) => `${id}\n`).join('')),
      maxBytes: 64 * 1024 * 1024,
    },
  );
  const lines = stdout.toString('utf8').split('\n');
  return new Set(
    lines.filter((line) => line !== '' && !line.endsWith(' missing')).map((line) => line.split(' ')[0]!),
  );
}

/**
 * A pack with what the workspace lacks of `wanted`, in the exchange.
 * @returns its path, or null when there is nothing to bring
 */
export async function packFor(
  context: Context,
  kept: Repository,
  wanted: readonly string[],
  has: readonly string[],
  shallow: readonly string[],
): Promise<string | null> {
  const lines = [...shallow.map((id) => `--shallow ${id}`), ...wanted, ...has.map((id) => `^${id}`)];
  const base = join(context.exchange, 'new');
  const argv = [
    'pack-objects',
    '--revs',
    '--quiet',
    '--delta-base-offset',
    ...(shallow.length > 0 ? ['--shallow'] : []),
    base,
  ];
  const { stdout } = await mustGit(context, kept, argv, { stdin: Buffer.from(`${lines.join('\n')}\n`) });
  const name = stdout.toString('utf8').trim();
  if (!/^[0-9a-f]{40,64}$/.test(name)) return null;
  const path = `${base}-${name}.pack`;
  await share(path, context.user);
  return path;
}
