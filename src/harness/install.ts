/** One installation into a folder: fetch, compare integrity, run the listed scripts; each step confined by itself. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, open, writeFile } from 'node:fs/promises';
import { constants } from 'node:fs';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { spawnConfined } from '../confine/spawn.ts';
import type { ConfineSpec } from '../confine/types.ts';
import { WraptoolError } from '../errors.ts';
import { findNpm, installArgs, registrySettings, scriptsArgs, type Npm, type Registry } from './npm.ts';
import type { Platform } from './platform.ts';
import type { NpmInstall } from './schema.ts';

export type InstallOptions = {
  readonly npm: NpmInstall;
  readonly version: string;
  /** Another machine than this one, or null. */
  readonly platform: Platform | null;
  /** Empty folder that receives the tree, and one for what is thrown away. */
  readonly tree: string;
  readonly scratch: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly confine: 'auto' | 'none';
  readonly progress: (message: string) => void;
  readonly signal: AbortSignal;
};

/** What was installed: the registry's integrity of each package by its place in the tree. */
export type Installed = {
  readonly integrity: string;
  readonly packages: Readonly<
    Record<string, { readonly version: string; readonly integrity: string | null }>
  >;
};

const timeoutMs = 20 * 60_000;
const GiB = 1024 ** 3;
const insideTree = '/opt/wraptool/harness';
const insideHome = '/home/agent';
const insideNode = '/opt/wraptool/node/bin';

export async function install(options: InstallOptions): Promise<Installed> {
  const { npm: wanted, version, tree, scratch } = options;
  const npm = await findNpm(options.env);
  const registry = await registrySettings(npm, options.env);
  const step: Step = { options, npm, registry };
  await writeFile(path.join(tree, 'package.json'), '{ "private": true }\n');
  options.progress(`fetching ${wanted.package} ${version} from ${registry.url}`);
  await run(step, {
    args: installArgs(npm, wanted.package, version, options.platform),
    home: await folder(scratch, 'fetch'),
    env: registry.env,
    network: 'private',
  });
  const installed = compare(await readLock(tree), wanted, version);
  if (wanted.scripts.length === 0) return installed;
  options.progress(`running the install scripts of ${wanted.scripts.join(', ')}`);
  await run(step, {
    args: scriptsArgs(npm, wanted.scripts),
    // Nothing of the registry, its proxy or npm's cache is there any more when code of the package runs.
    home: await folder(scratch, 'scripts'),
    env: {},
    network: wanted.scripts_network ? 'private' : 'none',
  });
  return installed;
}

type Step = { readonly options: InstallOptions; readonly npm: Npm; readonly registry: Registry };
type Task = {
  readonly args: readonly string[];
  readonly home: string;
  readonly env: Readonly<Record<string, string>>;
  readonly network: 'private' | 'none';
};

async function folder(parent: string, name: string): Promise<string> {
  const made = path.join(parent, name);
  await mkdir(made, { mode: 0o700 });
  return made;
}

async function run(step: Step, task: Task): Promise<void> {
  const lines = new Lines(step.options.progress);
  const signal = AbortSignal.any([step.options.signal, AbortSignal.timeout(timeoutMs)]);
  signal.throwIfAborted();
  const started = step.options.confine === 'none' ? bare(step, task) : await confined(step, task);
  const stop = (): void => void started.stop().catch((error: unknown) => lines.add(String(error)));
  signal.addEventListener('abort', stop, { once: true });
  for (const stream of [started.stdout, started.stderr]) lines.read(stream);
  try {
    const code = await started.exit;
    step.options.signal.throwIfAborted();
    if (code !== 0)
      throw failed(step, signal.aborted ? 'took more than 20 minutes' : `ended with ${code}`, lines.tail);
  } finally {
    signal.removeEventListener('abort', stop);
    await started.stop();
  }
}

type Started = {
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly exit: Promise<number>;
  stop(): Promise<void>;
};

async function confined({ options, npm, registry }: Step, task: Task): Promise<Started> {
  const cafile = registry.cafile === null || task.network === 'none' ? null : registry.cafile;
  const readOnly = [{ source: process.execPath, target: `${insideNode}/node` }];
  if (!npm.dir.startsWith('/usr/')) readOnly.push({ source: npm.dir, target: npm.dir });
  if (cafile !== null) readOnly.push({ source: cafile, target: '/opt/wraptool/registry-ca.pem' });
  const spec: ConfineSpec = {
    readOnly,
    writable: [
      { source: options.tree, target: insideTree },
      { source: task.home, target: insideHome },
    ],
    cwd: insideTree,
    env: {
      ...baseEnv(insideHome, insideNode),
      ...task.env,
      ...(cafile === null ? {} : { npm_config_cafile: '/opt/wraptool/registry-ca.pem' }),
    },
    network: task.network,
    terminal: false,
    limits: { fileSizeBytes: 4 * GiB, processes: 512 },
  };
  const started = await spawnConfined(spec, [`${insideNode}/node`, ...task.args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  return {
    stdout: started.child.stdout as Readable,
    stderr: started.child.stderr as Readable,
    exit: started.exit,
    stop: () => started.stop(),
  };
}

/** `confine_install: none`: the operator's own word. Still without the host's environment and HOME. */
function bare({ options, registry }: Step, task: Task): Started {
  const child = spawn(process.execPath, task.args, {
    cwd: options.tree,
    env: {
      ...baseEnv(task.home, path.dirname(process.execPath)),
      ...task.env,
      ...(registry.cafile === null ? {} : { npm_config_cafile: registry.cafile }),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const closed = once(child, 'exit') as Promise<[number | null]>;
  return {
    stdout: child.stdout,
    stderr: child.stderr,
    exit: closed.then(([code]) => code ?? 1),
    stop: async () => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
      }
      await closed;
    },
  };
}

function baseEnv(home: string, nodeFolder: string): Record<string, string> {
  return {
    PATH: `${nodeFolder}:/usr/local/bin:/usr/bin:/bin`,
    HOME: home,
    LANG: 'C.UTF-8',
    npm_config_cache: `${home}/.npm`,
    // npm waits up to a minute between its tries by default: too long for a registry that is not there.
    npm_config_fetch_retry_mintimeout: '1000',
    npm_config_fetch_retry_maxtimeout: '4000',
  };
}

/** npm's output as lines: what is fetched goes to progress, the last lines into the error. */
class Lines {
  readonly tail: string[] = [];
  readonly #progress: (message: string) => void;

  constructor(progress: (message: string) => void) {
    this.#progress = progress;
  }

  read(stream: Readable): void {
    let rest = '';
    stream.setEncoding('utf8').on('data', (text: string) => {
      const lines = `${rest}${text}`.split('\n');
      rest = (lines.pop() ?? '').slice(-4096);
      for (const line of lines) this.add(line);
    });
  }

  add(line: string): void {
    // The registry, its packages and their scripts chose these words: no control, bidi or format character passes.
    const clean = line
      .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ')
      .trim()
      .slice(0, 300);
    if (clean === '') return;
    const fetched = /^npm http fetch GET 200 \S+\/([^/\s]+\.tgz) /.exec(clean);
    if (fetched) this.#progress(`fetched ${fetched[1] ?? ''}`);
    if (clean.startsWith('npm http')) return;
    this.tail.push(clean);
    if (this.tail.length > 12) this.tail.shift();
  }
}

function failed(step: Step, how: string, tail: readonly string[]): WraptoolError {
  const { npm, version } = step.options;
  return new WraptoolError(
    'harness_install_failed',
    `the installation of "${npm.package}" ${version} ${how}`,
    {
      problems: tail,
      hint: advice(step.registry.url, tail.join('\n')),
    },
  );
}

function advice(registry: string, said: string): string {
  if (/^https?:\/\/(localhost|127\.|\[::1\])/.test(registry))
    return `the registry ${registry} is on this host's loopback, which a confined installation cannot reach: use another address of the host, or write "up: { confine_install: none }"`;
  if (/ETARGET|E404/.test(said))
    return `the registry ${registry} has no such version: check --harness-version`;
  if (/ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENETUNREACH/.test(said))
    return `the registry ${registry} cannot be reached: check the network, and "npm config get registry"`;
  if (/CERT|certificate/i.test(said))
    return 'a certificate is not trusted: "npm config set cafile FILE" names the authority';
  return 'the lines above are npm’s own';
}

/** The lock file that npm wrote; no code of any package has run yet. */
async function readLock(tree: string): Promise<unknown> {
  await using file = await open(
    path.join(tree, 'package-lock.json'),
    constants.O_RDONLY | constants.O_NOFOLLOW,
  );
  return JSON.parse(await file.readFile('utf8')) as unknown;
}

type LockEntry = { readonly version?: string; readonly integrity?: string };

function compare(lock: unknown, wanted: NpmInstall, version: string): Installed {
  const entries = (lock as { packages?: Record<string, LockEntry> }).packages ?? {};
  const packages: Record<string, { version: string; integrity: string | null }> = {};
  for (const [place, entry] of Object.entries(entries))
    if (place !== '') packages[place] = { version: entry.version ?? '', integrity: entry.integrity ?? null };
  const main = packages[`node_modules/${wanted.package}`];
  if (main?.integrity === undefined || main.integrity === null || main.version !== version)
    throw new WraptoolError(
      'harness_install_failed',
      `npm did not record the integrity of "${wanted.package}" ${version}`,
    );
  if (version === wanted.version)
    for (const [name, expected] of Object.entries(wanted.integrity)) {
      const found = packages[`node_modules/${name}`]?.integrity;
      if (found === undefined || found === expected) continue;
      throw new WraptoolError(
        'harness_install_failed',
        `"${name}" ${version} is not what the descriptor expects`,
        {
          problems: [`expected ${expected}`, `found ${found ?? 'no integrity'}`],
          hint: 'the registry serves other bytes than those that were checked: do not use them',
        },
      );
    }
  return { integrity: main.integrity, packages };
}
