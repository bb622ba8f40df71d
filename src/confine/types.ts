/** What a confined process may see. Everything that is not named here is absent. */

export type Bind = { readonly source: string; readonly target: string };

export type ConfineSpec = {
  /** Read-only binds beside the base system (/usr with its links, the narrow /etc). */
  readonly readOnly: readonly Bind[];
  /** Writable binds, mounted in the order given and before `readOnlyOver`. */
  readonly writable: readonly Bind[];
  /** Read-only binds mounted last, over writable ones (for example .git/hooks). */
  readonly readOnlyOver?: readonly Bind[];
  /** Links made inside: target is where the link stands, source what it says. */
  readonly links?: readonly Bind[];
  /** Absolute path inside. */
  readonly cwd: string;
  /** The whole environment inside; nothing else is passed. Never appears on a command line. */
  readonly env: Readonly<Record<string, string>>;
  /** none: own empty network namespace; host: shares the host's; private: outbound only, host loopback out of reach. */
  readonly network: 'none' | 'host' | 'private';
  /** Keep the controlling terminal (the seccomp filter refuses TIOCSTI and TIOCLINUX); otherwise a new session. */
  readonly terminal: boolean;
  readonly hostname?: string;
  /** Let the command make user namespaces of its own, as a client's own sandbox does. Absent: refused. */
  readonly nestedSandboxes?: boolean;
  /** Run as this owner; only root may change it. Absent: the caller. */
  readonly user?: { readonly uid: number; readonly gid: number };
  /** Bounds set with prlimit, each for one process except `processes`; absent members are unlimited. */
  readonly limits?: {
    readonly addressSpaceBytes?: number;
    readonly fileSizeBytes?: number;
    readonly cpuSeconds?: number;
    /** Processes and threads in the sandbox. The kernel does not hold uid 0 to it. */
    readonly processes?: number;
    /** Size of the private /tmp; absent: half of the machine's memory. */
    readonly tmpBytes?: number;
  };
};

/**
 * A command line that confines: spawn `file` with `args`; `fds[i]` is the readable content for descriptor `fd`.
 * With network `private` it waits, in an empty network, on `networkFd`: only spawnConfined can start that one.
 */
export type ConfinedCommand = {
  readonly file: string;
  readonly args: readonly string[];
  /** Environment of the launcher itself (not of the confined process). */
  readonly env: Readonly<Record<string, string>>;
  readonly fds: readonly { readonly fd: number; readonly content: Uint8Array }[];
  /** Where bubblewrap writes its JSON status; present when asked for. */
  readonly statusFd?: number;
  /** A socket: the launcher says "ready" in its new network namespace, then waits for "go". */
  readonly networkFd?: number;
};

export type Availability =
  | { readonly ok: true; readonly version: string }
  | { readonly ok: false; readonly reason: string; readonly hint: string };
