/**
 * One folder per session, the only truth about it:
 *   NAME/session.json   who, what, where; no secret
 *   NAME/socket/        mounted read-only into the runtime; holds gateway.sock
 *   NAME/files/         generated client configuration, mounted read-only
 *   NAME/gateway-N.sock where the gateway that is the N-th listens; socket/gateway.sock is another name of the current one's
 *   NAME/gateway.log    what the gateway said on stderr
 *   NAME/events.jsonl   what the supervisor did and saw (session-events.ts)
 *   NAME/control.sock   requests to the supervisor (control/)
 */
import { randomBytes } from 'node:crypto';
import { chmod, chown, mkdir, mkdtemp, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { assertOperatorsOwn } from '../config/location.ts';
import { WraptoolError } from '../errors.ts';
import { sessionsDir } from '../paths.ts';
import type { Identity } from './runtime/mounts.ts';
import { isAlive, processRef, type ProcessRef } from '../supervise/process.ts';
import type { Proof } from '../restart/health.ts';
import { answers, serveSocket } from './control/line.ts';
import type { Finding } from './preflight.ts';
import { checkName, isReserved, nameShape } from './session-name.ts';

export { checkName };

type Env = Readonly<Record<string, string | undefined>>;

export type SessionState = {
  readonly version: 1;
  readonly name: string;
  /** 16 hex digits, new for each session. */
  readonly id: string;
  readonly harness: string;
  readonly runtime: string;
  readonly workspace: string;
  readonly roots: readonly string[];
  readonly owner: { readonly uid: number; readonly gid: number };
  readonly config: string;
  readonly remotes: Readonly<Record<string, string>>;
  /** Folders of the repository outside the workspace that the session shares, as they were when they were judged. */
  readonly shared: readonly (Identity & { readonly writable: boolean })[];
  /** ISO time. */
  readonly created: string;
  readonly status: 'starting' | 'running' | 'ending';
  readonly supervisor: ProcessRef;
  readonly gateway: ProcessRef | null;
  /** How the gateway ended when nobody had asked it to, for `ps`. */
  readonly gatewayFault: string | null;
  /** Facts of the runtime that let a later command reclaim it. */
  readonly facts: Readonly<Record<string, string | number>>;
  /** Host folder of the harness HOME, and the folder of the log; absent in a session of an older wraptool. */
  readonly home?: string;
  readonly log?: string;
  /** `up.network`. */
  readonly network?: string;
  /** What the checks inside the runtime found before the harness was started. */
  readonly preflight?: readonly Finding[];
  /** What a probe inside the runtime saw of the gateway that runs now; null before there was one. */
  readonly proof?: Proof | null;
  /** A restart is under way: the gateway takes no new changes. */
  readonly quiescing?: boolean;
};

/** sun_path holds 108 bytes with the closing NUL. */
const longestSocketPath = 107;

/** A readable name from the harness and the workspace folder: `claude-app`. */
export function proposeName(harness: string, workspace: string): string {
  const words = `${harness}-${path.basename(workspace)}`.toLowerCase().replace(/[^a-z0-9]+/g, '-');
  const name = words.slice(0, 32).replace(/^-+|-+$/g, '');
  return isReserved(name) || name === '' ? 'session' : name;
}

export class Session {
  readonly dir: string;
  #state: SessionState;
  #written: Promise<void> = Promise.resolve();

  constructor(dir: string, state: SessionState) {
    this.dir = dir;
    this.#state = state;
  }

  get state(): SessionState {
    return this.#state;
  }
  get socketDir(): string {
    return path.join(this.dir, 'socket');
  }
  get socket(): string {
    return path.join(this.socketDir, 'gateway.sock');
  }
  get filesDir(): string {
    return path.join(this.dir, 'files');
  }

  /** Changes some fields; the file is replaced whole, so that a reader never sees half of it. */
  async update(change: Partial<SessionState>): Promise<void> {
    this.#state = { ...this.#state, ...change };
    const state = this.#state;
    // One after the other: they share the name of the file aside.
    const write = (): Promise<void> => writeState(this.dir, state);
    this.#written = this.#written.then(write, write);
    await this.#written;
  }

  async remove(): Promise<void> {
    await rm(this.dir, { recursive: true, force: true });
  }
}

async function writeState(dir: string, state: SessionState): Promise<void> {
  const temporary = path.join(dir, `.session.json.${process.pid}`);
  await writeFile(temporary, `${JSON.stringify(state, null, 2)}\n`, { mode: 0o600 });
  await rename(temporary, path.join(dir, 'session.json'));
}

export type NewSession = Pick<
  SessionState,
  | 'harness'
  | 'runtime'
  | 'workspace'
  | 'roots'
  | 'owner'
  | 'config'
  | 'remotes'
  | 'shared'
  | 'home'
  | 'log'
  | 'network'
>;

/**
 * Makes the session's folder; taking the folder's name is the lock on the session's.
 * A proposed name gets `-2`, `-3` … while taken; a name that the operator gave is refused (session_exists).
 */
export async function createSession(
  env: Env,
  name: { given?: string | undefined; proposed: string },
  about: NewSession,
): Promise<Session> {
  const parent = sessionsDir(env);
  await assertOperatorsOwn(parent, 'state');
  await mkdir(parent, { recursive: true, mode: 0o700 });
  const supervisor = await processRef(process.pid);
  if (supervisor === null)
    throw new WraptoolError('internal', 'this process is not in /proc', { hint: 'mount /proc' });
  for (let number = 1; ; number += 1) {
    const chosen = name.given ?? (number === 1 ? name.proposed : `${name.proposed.slice(0, 28)}-${number}`);
    const dir = path.join(parent, chosen);
    checkSocketPath(path.join(dir, 'socket', 'gateway.sock'), chosen);
    const state: SessionState = {
      version: 1,
      name: chosen,
      id: randomBytes(8).toString('hex'),
      ...about,
      created: new Date().toISOString(),
      status: 'starting',
      supervisor,
      gateway: null,
      gatewayFault: null,
      facts: {},
    };
    // A gateway of `serve --name` is a namespace of that name, too.
    const served = await answers(serveSocket(parent, chosen));
    if (!served && (await claim(parent, dir, state))) return new Session(dir, state);
    if (name.given === undefined) continue;
    if (served)
      throw new WraptoolError('session_exists', `a gateway named "${chosen}" runs already`, {
        hint: 'choose another --name',
      });
    throw new WraptoolError('session_exists', `there is a session "${chosen}" already (${dir})`, {
      hint: `end it with "wraptool down ${chosen}", or choose another --name`,
    });
  }
}

/** Fills a folder aside and renames it into place: nobody ever sees a session without its state. */
async function claim(parent: string, dir: string, state: SessionState): Promise<boolean> {
  const aside = await mkdtemp(path.join(parent, `.new-${state.supervisor.pid}-${state.supervisor.start}-`));
  try {
    await writeState(aside, state);
    for (const folder of ['socket', 'files']) await ownedFolder(path.join(aside, folder), state.owner);
    await rename(aside, dir);
    return true;
  } catch (error) {
    await rm(aside, { recursive: true, force: true });
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOTEMPTY' || code === 'EEXIST') return false;
    throw error;
  }
}

/** A 0700 folder that belongs to the workspace's owner, as whom the harness runs. */
async function ownedFolder(dir: string, owner: { uid: number; gid: number }): Promise<void> {
  await mkdir(dir, { mode: 0o700 });
  await chmod(dir, 0o700);
  if (process.getuid?.() === 0 && owner.uid !== 0) await chown(dir, owner.uid, owner.gid);
}

function checkSocketPath(socket: string, name: string): void {
  if (Buffer.byteLength(socket) <= longestSocketPath) return;
  throw new WraptoolError(
    'usage',
    `the socket's path is longer than the ${longestSocketPath} bytes that Linux allows: "${socket}"`,
    {
      hint: `choose a name shorter than "${name}" with --name, or set XDG_RUNTIME_DIR to a shorter folder`,
    },
  );
}

/** Removes the folders of sessions whose maker died before they had their name. */
export async function removeUnfinished(env: Env): Promise<void> {
  const parent = sessionsDir(env);
  for (const name of await namesIn(parent)) {
    const [, pid, start] = /^\.new-(\d+)-(\d+)-/.exec(name) ?? [];
    if (pid === undefined || start === undefined || (await isAlive({ pid: Number(pid), start }))) continue;
    await rm(path.join(parent, name), { recursive: true, force: true });
  }
}

/**
 * What is in the folder of sessions, none if there is none. Error: unsafe_location where others could write there: they
 * would choose which processes a reclaim ends.
 */
async function namesIn(parent: string): Promise<string[]> {
  try {
    await assertOperatorsOwn(parent, 'state');
    return await readdir(parent);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return [];
    throw error;
  }
}

/** Sessions of which a folder is there, with whether their supervisor lives. A folder without a readable state is dead. */
export async function listSessions(
  env: Env,
): Promise<{ session: Session | null; dir: string; alive: boolean }[]> {
  const parent = sessionsDir(env);
  const names = await namesIn(parent);
  const found = [];
  for (const name of names.filter((word) => nameShape.test(word)).sort()) {
    const dir = path.join(parent, name);
    const state = await readState(dir);
    if (state === 'gone') continue;
    found.push({
      dir,
      session: state === null ? null : new Session(dir, state),
      alive: state !== null && (await isAlive(state.supervisor)),
    });
  }
  return found;
}

const ownNames =
  /^(session\.json|\.session\.json\.\d+|socket|files|servers|devcontainer|gateway\.log|gateway-\d+\.sock|events\.jsonl|control\.sock)$/;

/** Whether a folder without a state is what a removal left of a session, and not somebody else's. */
async function isRest(dir: string): Promise<boolean> {
  try {
    return (await readdir(dir)).every((name) => ownNames.test(name));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

/** The state of one session; null when the file is missing or unreadable, `gone` when the folder is. */
async function readState(dir: string): Promise<SessionState | null | 'gone'> {
  try {
    return JSON.parse(await readFile(path.join(dir, 'session.json'), 'utf8')) as SessionState;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOTDIR') return 'gone';
    if (code === 'ENOENT') return (await isRest(dir)) ? null : 'gone';
    throw error;
  }
}

export async function findSession(env: Env, name: string): Promise<{ session: Session; alive: boolean }> {
  checkName(name);
  const all = await listSessions(env);
  for (const { session, alive } of all) if (session?.state.name === name) return { session, alive };
  const names = all.map((entry) => path.basename(entry.dir));
  throw new WraptoolError('session_unknown', `there is no session "${name}"`, {
    hint:
      names.length === 0
        ? 'no session is there: "wraptool up HARNESS" starts one'
        : `there are: ${names.join(', ')}`,
  });
}
