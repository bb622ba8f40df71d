/** A workspace, a HOME and a session folder of one test, and the ways to run something in a runtime with them. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { createRuntime } from '../../../src/up/runtime/create.ts';
import {
  inside,
  type LaunchSpec,
  type Running,
  type RuntimeName,
  type Started,
} from '../../../src/up/runtime/runtime.ts';
import { testImage } from '../../support/image.ts';

export type RigOptions = {
  readonly runtime: RuntimeName;
  /** Name of the workspace folder. */
  readonly folder?: string;
  /** Owner of workspace and HOME; absent: this process. */
  readonly owner?: number;
  readonly command?: readonly string[];
  readonly network?: LaunchSpec['network'];
  readonly env?: Readonly<Record<string, string>>;
};

const driverFile = fileURLToPath(new URL('../../fixtures/runtime/driver.ts', import.meta.url));
const node = realpathSync(process.execPath);

export class Rig {
  readonly runtime: RuntimeName;
  readonly dir: string;
  /** In the command line of everything that belongs to this rig, on the host too. */
  readonly mark: string;
  readonly spec: LaunchSpec;

  constructor(options: RigOptions) {
    this.runtime = options.runtime;
    this.dir = realpathSync(mkdtempSync(join(tmpdir(), 'wraptool-runtime-')));
    this.mark = `mark${randomBytes(6).toString('hex')}`;
    const uid = options.owner ?? process.getuid!();
    const gid = options.owner ?? process.getgid!();
    // Root's own folders are closed to the owner, as a real HOME of root is.
    chmodSync(this.dir, 0o700);
    const path = join(this.dir, options.folder ?? 'workspace');
    for (const name of ['session', 'home', 'socket', 'private'])
      mkdirSync(join(this.dir, name), { mode: 0o700 });
    chmodSync(join(this.dir, 'socket'), 0o711);
    mkdirSync(path, { mode: 0o755 });
    git(path, ['init', '-q', '-b', 'main']);
    spawnSync('chown', ['-R', `${uid}:${gid}`, path, join(this.dir, 'home')]);
    this.spec = {
      session: { name: this.mark, id: randomBytes(8).toString('hex'), dir: join(this.dir, 'session') },
      workspace: { path, given: path, uid, gid },
      home: join(this.dir, 'home'),
      socketDir: join(this.dir, 'socket'),
      readOnly: [{ source: node, target: inside.node }],
      env: { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: inside.home, ...options.env },
      secretEnv: new Set(['WRAPTOOL_TOKEN']),
      command: options.command ?? ['/bin/sh', '-c', 'exit 0'],
      network: options.network ?? 'none',
      baseImage: testImage,
    };
  }

  prepare(spec: LaunchSpec = this.spec): Promise<Started> {
    return createRuntime(this.runtime).prepare(spec, () => undefined, new AbortController().signal);
  }

  /** argv of a process that owns a session and runs the spec's command attached to its own streams. */
  driver(job: { exec?: readonly string[]; spec?: LaunchSpec } = {}): readonly string[] {
    const spec = job.spec ?? this.spec;
    const file = join(this.dir, 'job.json');
    const text = {
      runtime: this.runtime,
      exec: job.exec,
      prepared: this.preparedFile,
      spec: { ...spec, secretEnv: [...spec.secretEnv] },
    };
    writeFileSync(file, JSON.stringify(text));
    return [process.execPath, driverFile, file];
  }

  get preparedFile(): string {
    return join(this.dir, 'prepared.json');
  }

  start(job?: { exec?: readonly string[] }): ChildProcess {
    const [file, ...args] = this.driver(job);
    return spawn(file!, args, {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...process.env, WRAPTOOL_TEST_CANARY: 'canary' },
    });
  }

  /** Command lines of all processes of the machine that carry this rig's mark; containers' are among them. */
  alive(): readonly string[] {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name) && name !== String(process.pid))
      .map(commandLine)
      .filter((line) => line.includes(this.mark));
  }

  /** Containers, ended ones too, of this rig. */
  containers(): readonly string[] {
    if (this.runtime !== 'devcontainer') return [];
    const found = spawnSync('docker', ['ps', '-aq', '--filter', `label=wraptool.session=${this.mark}`], {
      encoding: 'utf8',
    });
    return found.stdout.split('\n').filter((line) => line !== '');
  }

  remove(): void {
    rmSync(this.dir, { recursive: true, force: true });
  }
}

export type Said = { readonly code: number; readonly out: string; readonly err: string };

/** Runs a command in a session to its end. */
export async function exec(
  started: Started,
  command: readonly string[],
  options: { stdin?: string | Buffer; env?: Readonly<Record<string, string>>; cwd?: string } = {},
): Promise<Said> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const texts = Promise.all([collect(stdout), collect(stderr)]);
  const stdin = options.stdin === undefined ? null : Readable.from([options.stdin]);
  const running = await started.exec(command, { stdin, stdout, stderr }, options);
  const code = await running.exit;
  stdout.end();
  stderr.end();
  const [out, err] = await texts;
  return { code, out, err };
}

export function sh(started: Started, script: string, ...args: readonly string[]): Promise<Said> {
  return exec(started, ['/bin/sh', '-c', script, 'sh', ...args]);
}

/** Starts a shell script and waits for the line "ready". */
export async function ready(started: Started, script: string): Promise<Running> {
  const stdout = new PassThrough();
  const running = await started.exec(['/bin/sh', '-c', script], {
    stdin: null,
    stdout,
    stderr: new PassThrough().resume(),
  });
  let said = '';
  await new Promise<void>((resolve) => {
    stdout.on('data', (bytes: Buffer) => {
      said += bytes.toString();
      if (said.includes('ready')) resolve();
    });
  });
  return running;
}

export async function collect(stream: AsyncIterable<unknown>): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(Buffer.from(part as Buffer));
  return Buffer.concat(parts).toString('utf8');
}

export function git(cwd: string, args: readonly string[]): string {
  const done = spawnSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.org', ...args], {
    cwd,
    encoding: 'utf8',
    env: {
      PATH: process.env['PATH'],
      HOME: '/dev/null/home',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'safe.directory',
      GIT_CONFIG_VALUE_0: '*',
    },
  });
  if (done.status !== 0) throw new Error(`git ${args.join(' ')}: ${done.stderr}`);
  return done.stdout;
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return '';
    throw error;
  }
}
