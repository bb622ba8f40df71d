/** What `up` is asked, and what it needs of the outside world. */
import type { Snapshot } from '../config/types.ts';
import type { Inspection } from '../devcontainer/inspect.ts';
import type { Ask } from './remotes.ts';
import type { Stdio } from './runtime/runtime.ts';

export type UpOptions = {
  readonly harness: string;
  readonly runtime?: string | undefined;
  readonly workspace?: string | undefined;
  readonly name?: string | undefined;
  readonly home?: string | undefined;
  readonly config?: string | undefined;
  /** "workspace": the workspace's own definition, after approval. */
  readonly devcontainer?: string | undefined;
  readonly definition?: string | undefined;
  readonly harnessVersion?: string | undefined;
  readonly yolo: boolean;
  /** The operator agrees that this session is restarted: see restart/gate.ts. */
  readonly allowRestart?: boolean | undefined;
  readonly args: readonly string[];
};

/** What `up` needs of the outside world; the CLI hands it in. */
export type UpWorld = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly main: string;
  /** Runs one named step with progress. */
  step<T>(title: string, work: (say: (message: string) => void) => Promise<T>): Promise<T>;
  note(text: string): void;
  warn(text: string): void;
  /** A request of this session waits for the operator, whose terminal the harness has. */
  attention(id: string): void;
  /** Asks the operator yes or no; null where nobody can be asked. */
  readonly ask: Ask | null;
  /** Shows a definition and approves it if the operator says so; null where nobody can be asked. */
  readonly approve: ((found: Inspection) => Promise<boolean>) | null;
  readonly stdio: Stdio;
  /** Serves the operator's page where the config has it; a link to say at the start. Absent: there is none. */
  readonly admin?:
    | ((about: {
        readonly snapshot: Snapshot;
        readonly configFile: string;
        readonly session: string;
      }) => Promise<{ readonly link: string; close(): Promise<void> } | null>)
    | undefined;
};
