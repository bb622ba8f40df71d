/** The executor's vocabulary: a frozen call in, an outcome out. */
import type { ReasonCode } from '../policy/types.ts';

/** A directory that was opened and then checked; children start in the descriptor, never in the string. */
export type OpenedDir = {
  readonly fd: number;
  /** Real path read through the descriptor. */
  readonly realPath: string;
  close(): Promise<void>;
};

/** Resolved once when a config loads; identity is re-checked before each start. */
export type ResolvedBinary = {
  readonly path: string;
  readonly dev: bigint;
  readonly ino: bigint;
  readonly mtimeNs: bigint;
  readonly size: bigint;
};

export type FrozenCall = {
  readonly tool: string;
  readonly subcommand: readonly string[];
  readonly binary: ResolvedBinary;
  /** Canonical argv after the binary. */
  readonly argv: readonly string[];
  readonly cwd: OpenedDir;
  /** The whole environment of the child. */
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: string | null;
  readonly timeoutMs: number;
  /** Bytes kept of each of stdout and stderr. */
  readonly maxOutputBytes: number;
  readonly maxConcurrent: number;
  readonly guard: GuardName | null;
  readonly guardOptions: GuardOptions;
};

export type GuardName = 'git';

export type GuardOptions = {
  /** Real path of the workspace (the cwd root that contains cwd). */
  readonly workspace: string;
  /** Pinned remotes: name to URL. */
  readonly remotes: Readonly<Record<string, string>>;
  /** Folder of the operator's private state for this workspace, outside every root. */
  readonly stateDir: string;
  readonly homeFiles: readonly string[];
  /** Folders of the repository outside the workspace that the session shares; those inside one another come later. */
  readonly shared?: readonly SharedFolder[];
  readonly confine: 'auto' | 'none';
};

/** A folder as it was when it was judged, as of a linked worktree's repository. */
export type SharedFolder = {
  readonly path: string;
  /** Of lstat, in decimal. */
  readonly dev: string;
  readonly ino: string;
  readonly writable: boolean;
};

export type Outcome =
  | {
      readonly kind: 'finished';
      readonly exitCode: number | null;
      readonly signal: string | null;
      readonly timedOut: boolean;
      readonly cancelled: boolean;
      readonly stdout: string;
      readonly stderr: string;
      readonly truncated: boolean;
      readonly durationMs: number;
      /** What a guard left out or did otherwise ("hooks skipped"). */
      readonly notes: readonly string[];
    }
  | {
      readonly kind: 'refused';
      readonly reason: Extract<ReasonCode, 'guard_refused' | 'busy'>;
      readonly detail: string;
    };

export type RunOptions = {
  readonly signal: AbortSignal;
  /** Scrubbed output lines as they come, for progress. */
  readonly onLine?: (line: string) => void;
};

export interface Executor {
  run(call: FrozenCall, options: RunOptions): Promise<Outcome>;
  /** Ends every child and the helper process. */
  close(): Promise<void>;
}
