/** What the harness runs in. Three implementations, one interface; `up` knows no other. */
import type { Availability, Bind } from '../../confine/types.ts';
import type { Entry } from '../../devcontainer/tree.ts';
import type { JsonObject } from '../../devcontainer/values.ts';
import type { TerminalSize } from '../attach.ts';

export type RuntimeName = 'guix' | 'devcontainer' | 'bubblewrap';
/** In the order in which `auto` tries them. */
export const runtimeNames: readonly RuntimeName[] = ['guix', 'devcontainer', 'bubblewrap'];

/** Paths inside every runtime. */
export const inside = {
  home: '/home/agent',
  harness: '/opt/wraptool/harness',
  node: '/opt/wraptool/node/bin/node',
  relay: '/opt/wraptool/relay',
  socketDir: '/run/wraptool',
  socket: '/run/wraptool/gateway.sock',
} as const;

/** A definition of the workspace that the operator approved. */
export type ApprovedDefinition = {
  /** Folder with the copy that was taken then. */
  readonly copy: string;
  /** Of the definition, relative to the workspace. */
  readonly name: string;
  readonly hash: string;
  readonly given: JsonObject;
  /** What is in the copy, by path relative to the workspace. */
  readonly files: ReadonlyMap<string, Entry>;
};

export type LaunchSpec = {
  readonly session: { readonly name: string; readonly id: string; readonly dir: string };
  /** Real path, mounted at the same path inside; `given` is how the operator spelled it (linked inside if it differs). */
  readonly workspace: {
    readonly path: string;
    readonly given: string;
    readonly uid: number;
    readonly gid: number;
  };
  /** Host folder mounted writable at inside.home. */
  readonly home: string;
  /** Host folder of the gateway's socket, mounted read-only at inside.socketDir. */
  readonly socketDir: string;
  /** Further read-only binds: harness installation, node, relay, generated files. */
  readonly readOnly: readonly Bind[];
  readonly env: Readonly<Record<string, string>>;
  /** Names in env whose values are secrets: masked wherever the spec is shown, never on a command line or in a label. */
  readonly secretEnv: ReadonlySet<string>;
  /** Absolute argv inside. */
  readonly command: readonly string[];
  readonly network: 'private' | 'host' | 'none';
  /** Dev Container only: base image of the default definition. */
  readonly baseImage: string;
  /** Dev Container only: the workspace's own definition in place of the default one. */
  readonly approved?: ApprovedDefinition;
};

/** What --dry-run prints: one entry per thing that would be run or called, secrets masked. */
export type Description = readonly {
  readonly what: string;
  readonly argv?: readonly string[];
  readonly detail?: unknown;
}[];

export type Progress = (message: string) => void;

/** Standard streams of a command in the runtime. inherit: the operator's terminal (or pipes) as they are. */
export type Stdio =
  | 'inherit'
  | { stdin: NodeJS.ReadableStream | null; stdout: NodeJS.WritableStream; stderr: NodeJS.WritableStream };

export type Running = {
  /** Resolves when the command has ended: its own code, or 128+n for signal n. Rejects (WraptoolError runtime_failed) if the runtime itself failed. */
  readonly exit: Promise<number>;
  /** Delivers a signal to the command's process group inside. */
  kill(signal: EndSignal): Promise<void>;
};

export type EndSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP' | 'SIGQUIT' | 'SIGKILL';

export type ExecOptions = {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** A terminal of its own inside, of that size; all output comes on stdout then. */
  readonly terminal?: TerminalSize;
};

/** A command beside the harness. */
export type Executing = Running & {
  /** Another size of its terminal; nothing where it has none. */
  resize(size: TerminalSize): Promise<void>;
};

/** A prepared runtime of one session. */
export interface Started {
  /** Facts for session.json that let a later `ps` or `down` reclaim it (container id, pids). No secrets. */
  readonly facts: Readonly<Record<string, string | number>>;
  /** A terminal inside is one of the runtime's own, of the operator's size; otherwise it is the operator's. */
  readonly ownTerminals?: boolean;
  /** Starts the harness itself, attached. */
  run(stdio: Stdio): Promise<Running>;
  /** Runs another command beside the harness with the same view (same environment unless given). */
  exec(command: readonly string[], stdio: Stdio, options?: ExecOptions): Promise<Executing>;
  /** Ends everything in the runtime and removes it. Idempotent. */
  stop(): Promise<void>;
}

export interface Runtime {
  readonly name: RuntimeName;
  /**
   * `baseImage`: what a Dev Container would be built from, null for what a definition says. `workspace`: no program of it
   * is ever taken for the system's.
   */
  available(options: { baseImage: string | null; workspace?: string | undefined }): Promise<Availability>;
  describe(spec: LaunchSpec): Promise<Description>;
  /** Whatever is slow: images, containers, network helpers. The harness does not run yet. */
  prepare(spec: LaunchSpec, progress: Progress, signal: AbortSignal): Promise<Started>;
  /** Removes what a dead session left (from Started.facts and the session's name); returns what was removed, one line each. */
  reclaim(session: {
    name: string;
    id: string;
    facts: Readonly<Record<string, string | number>>;
  }): Promise<readonly string[]>;
  /** What it made and kept for later sessions, and none uses now: `all` of it, or what none will. Absent: it keeps nothing. */
  leftovers?(all: boolean): Promise<readonly Leftover[]>;
}

export type Leftover = {
  readonly what: string;
  /** That its removal sets free; null where something else keeps them. */
  readonly bytes: number | null;
  /** False where something uses it by now: then it stays. */
  readonly remove: () => Promise<boolean>;
};
