/** Composition root of the gateway: snapshot, log, executor and listeners put together, and taken apart again. */
import path from 'node:path';
import { checkLocations } from '../config/load.ts';
import type { Snapshot } from '../config/types.ts';
import { gitGuard } from '../executor/guards/git.ts';
import { createExecutor } from '../executor/run.ts';
import type { Spawner } from '../executor/spawner.ts';
import { openLog } from '../log/append.ts';
import { sessionsDir, stateDir } from '../paths.ts';
import { activate, type Active, type Surroundings } from './active.ts';
import type { Core } from './core.ts';
import { handleCall, type Stages } from './handle-call.ts';
import { createRepeats } from './repeat.ts';
import { createRequestBook } from './request-book.ts';
import type { SessionFacts } from './session-facts.ts';
import { listen } from './transport/listen.ts';

type Env = Readonly<Record<string, string | undefined>>;

export type Mode =
  | { readonly kind: 'bare'; readonly name: string | null }
  | { readonly kind: 'session'; readonly session: SessionFacts };

export type ServeOptions = {
  readonly snapshot: Snapshot;
  readonly mode: Mode;
  readonly token: string;
  readonly spawner: Spawner;
  readonly env: Env;
  readonly version: string;
  readonly fault: (error: unknown) => void;
};

export type Serving = {
  /** Null where only the socket is listened on. */
  readonly url: string | null;
  readonly socket: string | null;
  /** Takes no more calls, gives those in flight `graceMs`, ends what runs. Idempotent. */
  close(cause: string, graceMs: number): Promise<void>;
};

const instructions =
  'Host commands that the operator allowed, argument by argument. wraptool_discover lists them, wraptool_run calls any of them by argv. A denial says why, and what to send to wraptool_request_capability.';

/** Starts a gateway; throws WraptoolError (unsafe_location, binary_invalid, log_unavailable, address_in_use, …). */
export async function serve(options: ServeOptions): Promise<Serving> {
  const { snapshot, mode, token, env } = options;
  const around = surroundings(options);
  await checkLocations(snapshot, [...around.agentWritable], [sessionsDir(env)]);
  // The one reference that a reload replaces, whole; a call holds the value that it began with.
  const current: { active: Active } = { active: await activate(snapshot, around) };
  const log = await openLog(snapshot.config.requests.log, {
    session: mode.kind === 'session' ? mode.session.name : null,
  });
  const executor = createExecutor({
    spawner: options.spawner,
    scrub: { stream: () => current.active.scrubber.stream() },
    guards: { git: gitGuard },
  });
  const stages: Stages = {
    active: () => current.active,
    log,
    executor,
    repeats: createRepeats(log.dir),
    requests: createRequestBook(log, mode.kind === 'session' ? mode.session.name : null),
    fault: options.fault,
  };
  const namespace = mode.kind === 'session' ? mode.session.name : (mode.name ?? 'serve');
  const listening = await listen({
    core: createCore(stages),
    token,
    about: { name: 'wraptool', version: options.version, instructions },
    ...doors(options),
    fault: options.fault,
  });
  const about = { namespace, what: 'gateway', pid: process.pid } as const;
  log.append({
    event: 'up',
    ...about,
    facts: { config: snapshot.hash, tools: current.active.registry.hash },
  });
  let closing: Promise<void> | null = null;
  return {
    url: listening.url,
    socket: listening.socket,
    close(cause, graceMs) {
      closing ??= (async () => {
        await listening.close(graceMs);
        await executor.close();
        log.append({ event: 'down', ...about, cause });
        log.close();
      })();
      return closing;
    },
  };
}

function surroundings({ mode, snapshot, env, token }: ServeOptions): Surroundings {
  const guardState = path.join(stateDir(env), 'guards');
  if (mode.kind === 'bare') {
    const roots = snapshot.config.mcp.allowed_cwd_roots;
    return { env, agentWritable: roots, roots: null, remotes: {}, guardState, token };
  }
  const { roots, remotes } = mode.session;
  return {
    env,
    agentWritable: [...roots, path.join(stateDir(env), 'homes')],
    roots,
    remotes,
    guardState,
    token,
  };
}

/** A session listens on its own socket only: nothing that other containers or users could reach. */
function doors({ mode, snapshot }: ServeOptions) {
  if (mode.kind === 'session')
    return { tcp: null, socket: { path: mode.session.socket, owner: mode.session.owner } };
  const { listen: tcp, socket } = snapshot.config.mcp;
  return { tcp, socket: socket === null ? null : { path: socket } };
}

function createCore(stages: Stages): Core {
  const listeners = new Set<() => void>();
  return {
    listTools: () => stages.active().registry.tools,
    callTool: (caller, name, args, options) =>
      handleCall(stages, { caller, name, args: args as Readonly<Record<string, unknown>>, options }),
    onToolsChanged(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
