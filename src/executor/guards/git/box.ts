/** The place where git meets the workspace: confined, without network, credentials, or anything else of the host. */
import { statSync } from 'node:fs';
import {
  chmod,
  chown,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  writeFile,
} from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { confinedCommand } from '../../../confine/command.ts';
import { findProgram } from '../../../confine/program.ts';
import type { Bind, ConfineSpec } from '../../../confine/types.ts';
import type { FrozenCall, SharedFolder } from '../../types.ts';
import type { GuardHost, Step, StepOptions, StepResult } from '../guard.ts';
import { boxEnvironment, hostEnvironment } from './environment.ts';
import { Ended, Refusal } from './refusal.ts';

const GiB = 1024 ** 3;

export type Context = {
  readonly call: FrozenCall;
  readonly host: GuardHost;
  /** Owner to run as, when root works on another's workspace. */
  readonly user: { readonly uid: number; readonly gid: number } | undefined;
  /** Operator's, for this call alone; only made for verbs that need it. */
  readonly folder: string;
  /** What the box may read besides the workspace: who commits, and packs on their way in. */
  readonly exchange: string;
  readonly identity: string;
  readonly notes: string[];
};

/**
 * @param needsFolder whether the call has a repository of its own
 * @returns the context and what removes it again
 */
export async function openContext(
  call: FrozenCall,
  host: GuardHost,
  needsFolder: boolean,
): Promise<{ context: Context; close(): Promise<void> }> {
  const { workspace, stateDir, confine, shared = [] } = call.guardOptions;
  await assertUnmoved(shared);
  await mkdir(stateDir, { recursive: true, mode: 0o700 });
  const folder = join(stateDir, `call-${randomBytes(8).toString('hex')}`);
  if (needsFolder) {
    await dropStale(stateDir);
    await mkdir(folder, { mode: 0o700 });
  }
  const notes = confine === 'none' ? ["not confined: the tool has 'confine: none'"] : [];
  const user = ownerOf(workspace);
  const exchange = await openExchange(needsFolder ? folder : stateDir, user);
  const who = await identityText(call, host);
  const identity = join(exchange, 'identity.gitconfig');
  if (await differs(identity, who)) await writeShared(identity, who, user);
  return {
    context: { call, host, user, folder, exchange, identity, notes },
    async close() {
      if (needsFolder) await rm(folder, { recursive: true, force: true });
      if (user !== undefined) await rm(exchange, { recursive: true, force: true });
    },
  };
}

/** What was judged at the session's start is what is mounted: another session may write in this repository. */
async function assertUnmoved(shared: readonly SharedFolder[]): Promise<void> {
  for (const { path, dev, ino } of shared) {
    const now = await lstat(path, { bigint: true }).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null;
      throw error;
    });
    if (now === null || String(now.dev) !== dev || String(now.ino) !== ino)
      throw new Refusal(`'${path}' is not the folder that this session shared when it began`);
  }
}

/** No call lasts so long: what is older is of a process that was killed. */
const staleMs = 24 * 3600 * 1000;

async function dropStale(stateDir: string): Promise<void> {
  for (const name of await readdir(stateDir)) {
    if (!name.startsWith('call-')) continue;
    const path = join(stateDir, name);
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat !== undefined && Date.now() - stat.mtimeMs > staleMs)
      await rm(path, { recursive: true, force: true });
  }
}

/** Of a workspace that isn't root's root sees to it that what is made there is its owner's. */
function ownerOf(workspace: string): Context['user'] {
  if (process.getuid?.() !== 0) return undefined;
  const { uid, gid } = statSync(workspace);
  return uid === 0 ? undefined : { uid, gid };
}

/** Another user cannot look into the operator's state: he gets a folder of his own to read, elsewhere. */
async function openExchange(folder: string, user: Context['user']): Promise<string> {
  if (user === undefined) {
    const own = join(folder, 'exchange');
    await mkdir(own, { recursive: true, mode: 0o700 });
    return own;
  }
  const shared = await mkdtemp(join(tmpdir(), 'wraptool-'));
  await chown(shared, 0, user.gid);
  await chmod(shared, 0o750);
  return shared;
}

/** Makes or replaces a file that the box may read. */
export async function writeShared(
  path: string,
  content: string | Uint8Array,
  user: Context['user'],
): Promise<void> {
  const fresh = `${path}.${randomBytes(6).toString('hex')}`;
  await writeFile(fresh, content, { mode: 0o600, flag: 'wx' });
  await share(fresh, user);
  await rename(fresh, path);
}

/** Lets the box read a file of the exchange. */
export async function share(path: string, user: Context['user']): Promise<void> {
  if (user === undefined) return;
  await chown(path, 0, user.gid);
  await chmod(path, 0o640);
}

async function differs(path: string, content: string): Promise<boolean> {
  try {
    return (await readFile(path, 'utf8')) !== content;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return true;
    throw error;
  }
}

type Identity = { readonly text: string; readonly until: number };
const identities = new Map<string, Identity>();
/** How long a change of the operator's name may go unseen, in ms. */
const identityAge = 30_000;

async function identityText(call: FrozenCall, host: GuardHost): Promise<string> {
  const key = JSON.stringify(
    ['HOME', 'XDG_CONFIG_HOME', 'GIT_CONFIG_GLOBAL'].map((name) => call.env[name] ?? ''),
  );
  const known = identities.get(key);
  if (known !== undefined && known.until > Date.now()) return known.text;
  const { stdout } = await host.exec({
    kind: 'host',
    binary: call.binary.path,
    argv: ['config', '-z', '--includes', '--get-regexp', '^(user\\.(name|email)|filter\\.lfs\\.clean)$'],
    // Not below any repository: only the operator's own and the machine's files are read.
    env: { ...hostEnvironment(call.env, { protocols: '' }), GIT_CEILING_DIRECTORIES: '/' },
    cwd: '/',
  });
  const values = new Map<string, string>();
  for (const entry of stdout.toString('utf8').split('\0')) {
    const at = entry.indexOf('\n');
    if (at > 0) values.set(entry.slice(0, at).toLowerCase(), entry.slice(at + 1));
  }
  const lines = [...values]
    .filter(([name]) => name.startsWith('user.'))
    .map(([name, value]) => `\t${name.slice('user.'.length)} = ${quoted(value)}\n`);
  const lfs = values.has('filter.lfs.clean') || findProgram('git-lfs') !== null ? lfsFilter : '';
  const text = `[safe]\n\tdirectory = *\n[user]\n${lines.join('')}${lfs}`;
  identities.set(key, { text, until: Date.now() + identityAge });
  return text;
}

/** As `git lfs install` writes it: without it, `git add` would take the large file itself into the repository. */
const lfsFilter =
  '[filter "lfs"]\n\tclean = git-lfs clean -- %f\n\tsmudge = git-lfs smudge -- %f\n\tprocess = git-lfs filter-process\n\trequired = true\n';

function quoted(value: string): string {
  return `"${value
    .replace(/[\\"]/g, String.raw`\$&`)
    .replaceAll('\n', '\\n')
    .replaceAll('\t', '\\t')}"`;
}

export type BoxOptions = { readonly pins?: readonly (readonly [string, string])[] };

/** A step that runs `command` (git's own words, or a program of the system) on the workspace. */
export function boxStep(context: Context, command: readonly string[], options: BoxOptions = {}): Step {
  const { call, identity } = context;
  const env = boxEnvironment(call.env, identity, options.pins);
  if (call.guardOptions.confine === 'none') {
    const [binary, ...argv] = command;
    return { kind: 'host', binary: binary!, argv, env, cwd: `/proc/${process.pid}/fd/${call.cwd.fd}` };
  }
  return { kind: 'confined', spec: boxSpec(context, env), command };
}

export function boxSpec(context: Context, env: Readonly<Record<string, string>>): ConfineSpec {
  const { call, user, exchange } = context;
  const { workspace, shared = [] } = call.guardOptions;
  const same = (path: string): Bind => ({ source: path, target: path });
  const seconds = Math.ceil(call.timeoutMs / 1000) + 5;
  return {
    readOnly: [
      ...gitFiles(call.binary.path),
      ...homeFiles(call),
      ...shared.filter(({ writable }) => !writable).map(({ path }) => same(path)),
    ],
    writable: [same(workspace), ...shared.filter(({ writable }) => writable).map(({ path }) => same(path))],
    readOnlyOver: [same(exchange)],
    cwd: call.cwd.realPath,
    env,
    network: 'none',
    terminal: false,
    hostname: 'sandbox',
    ...(user === undefined ? {} : { user }),
    limits: {
      addressSpaceBytes: 4 * GiB,
      fileSizeBytes: 4 * GiB,
      cpuSeconds: seconds,
      processes: 512,
      tmpBytes: GiB / 2,
    },
  };
}

/** A git that is not the system's own needs its file and its helpers. */
function gitFiles(binary: string): Bind[] {
  if (/^\/(?:usr|bin)\//.test(binary)) return [];
  const helpers = join(dirname(dirname(binary)), 'libexec', 'git-core');
  const found = statSync(helpers, { throwIfNoEntry: false })?.isDirectory() === true ? [helpers] : [];
  return [binary, ...found].map((path) => ({ source: path, target: path }));
}

/** Files of HOME that the operator named for the tool, where the box's own HOME is. */
function homeFiles(call: FrozenCall): Bind[] {
  const home = call.env['HOME'];
  if (home === undefined) return [];
  return call.guardOptions.homeFiles
    .filter((path) => path.startsWith(`${home}/`))
    .map((path) => ({ source: path, target: `/tmp${path.slice(home.length)}` }));
}

/** Runs a step on the workspace and keeps what it says. @throws Ended when the call's time is up or it was cancelled. */
export async function runBox(
  context: Context,
  command: readonly string[],
  options: StepOptions & BoxOptions = {},
): Promise<StepResult> {
  return live(await context.host.exec(boxStep(context, command, options), options));
}

/** @throws Ended for a step that did not end by itself. */
export function live(result: StepResult): StepResult {
  if (result.timedOut || result.cancelled || result.exitCode === null) throw new Ended(result);
  return result;
}

/**
 * Address of a server program that runs in the box (`upload-pack` of the workspace), for a git of the operator's.
 * The command line is the confinement module's; a script opens its descriptors, because git passes none on.
 */
export async function boxedServer(
  context: Context,
  command: readonly string[],
  options: BoxOptions = {},
): Promise<string> {
  const { call, identity, folder } = context;
  const env = boxEnvironment(call.env, identity, options.pins);
  const id = randomBytes(6).toString('hex');
  const script = join(folder, `server-${id}.sh`);
  if (call.guardOptions.confine === 'none') {
    const words = Object.entries(env).map(([name, value]) => `${name}=${value}`);
    await writeFile(script, `exec env -i ${[...words, ...command].map(shellWord).join(' ')}\n`, {
      mode: 0o600,
    });
    return address(script);
  }
  const built = confinedCommand(boxSpec(context, env), command);
  const opened: string[] = [];
  for (const { fd, content } of built.fds) {
    const path = join(folder, `server-${id}.${fd}`);
    await writeFile(path, content, { mode: 0o600 });
    opened.push(`exec ${fd}<${shellWord(path)}`);
  }
  const words = Object.entries(built.env).map(([name, value]) => `${name}=${value}`);
  const line = ['env', '-i', ...words, built.file, ...built.args].map(shellWord).join(' ');
  await writeFile(script, `${opened.join('\n')}\nexec ${line}\n`, { mode: 0o600 });
  return address(script);
}

function address(script: string): string {
  return `ext::sh ${script.replaceAll('%', '%%').replaceAll(' ', '% ')}`;
}

function shellWord(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
