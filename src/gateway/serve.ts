/** Composition root of the gateway: snapshot, log, executor and listeners put together, and taken apart again. */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { checkLocations } from '../config/load.ts';
import { watchConfig } from '../config/watch.ts';
import type { Snapshot } from '../config/types.ts';
import { gitGuard } from '../executor/guards/git.ts';
import { createExecutor } from '../executor/run.ts';
import type { Spawner } from '../executor/spawner.ts';
import type { Upstreams } from '../proxy/types.ts';
import { openLog, type Log } from '../log/append.ts';
import type { RequestBook } from '../requests/book.ts';
import { sessionsDir, stateDir } from '../paths.ts';
import { createAdmission } from './admission.ts';
import { contaminationOf } from './contamination.ts';
import { activate, withGrants, type Active, type Surroundings } from './active.ts';
import type { Core } from './core.ts';
import { createDescribing, type Describing } from './described.ts';
import { handleCall, type Stages } from './handle-call.ts';
import { createHelpReader } from './help.ts';
import { createOffered, type Offered } from './offered.ts';
import { createPeers } from './peer.ts';
import { reload, type Reloaded } from './reload.ts';
import { createRepeats } from './repeat.ts';
import { createRefusedCalls } from './refused.ts';
import type { SessionFacts } from './session-facts.ts';
import type { Supervised } from './supervised.ts';
import { preflightClient } from '../relay/preflight/types.ts';
import { openRequests, sessionIdOf } from './session-requests.ts';
import { listen, type Listening } from './transport/listen.ts';
import { startUpstreams, upstreamState } from './upstreams.ts';
import { listedBy, type Voice } from './voice.ts';

type Env = Readonly<Record<string, string | undefined>>;

export type Mode =
  | { readonly kind: 'bare'; readonly name: string | null }
  | {
      readonly kind: 'session';
      readonly session: SessionFacts;
      /** Nothing that changes something runs before the supervisor says that this gateway is proven. */
      readonly supervised: boolean;
    };

export type ServeOptions = {
  readonly snapshot: Snapshot;
  /** The file of the snapshot, absolute, as it was named; it is watched. */
  readonly configFile: string;
  /** Reads and validates it again. */
  readonly load: () => Promise<Snapshot>;
  readonly mode: Mode;
  readonly token: string;
  readonly spawner: Spawner;
  readonly env: Env;
  readonly version: string;
  readonly voice: Voice;
  readonly fault: (error: unknown) => void;
  /** A new request is there: for the terminal that the operator may be looking at. */
  readonly attention?: (request: { readonly id: string; readonly tool: string }) => void;
};

export type Serving = {
  /** Null where only the socket is listened on. */
  readonly url: string | null;
  readonly socket: string | null;
  /** As if the config had changed; resolves when it was loaded, or refused. */
  reload(): Promise<void>;
  readonly supervised: Supervised;
  /** Takes no more calls, gives those in flight `graceMs`, ends what runs. Idempotent. */
  close(cause: string, graceMs: number): Promise<void>;
};

const instructions =
  'Host commands that the operator allowed, argument by argument. wraptool_discover lists them, wraptool_run calls any of them by argv. A denial says why, and what to send to wraptool_request_capability.';

/** Starts a gateway; throws WraptoolError (unsafe_location, binary_invalid, log_unavailable, address_in_use, …). */
export async function serve(options: ServeOptions): Promise<Serving> {
  const { snapshot, mode, voice } = options;
  const around = surroundings(options);
  const check = (other: Snapshot) =>
    checkLocations(other, [...around.agentWritable], statePlaces(other, options));
  await check(snapshot);
  // The one reference that a reload replaces, whole; a call holds the value that it began with.
  const current: { active: Active } = { active: await activate(snapshot, around) };
  const session = mode.kind === 'session' ? mode.session : null;
  const log = await openLog(snapshot.config.requests.log, { session: session?.name ?? null });
  const scrub = {
    scrub: (text: string) => current.active.scrub(text),
    stream: () => current.active.scrubber.stream(),
  };
  const { upstreams, runDir } = await startUpstreams({
    ...options,
    servers: snapshot.config.mcp_servers,
    sessionDir: session?.dir ?? null,
    agentWritable: around.agentWritable,
    scrub,
  });
  const offered = createOffered(() => current.active, upstreams);
  const sessionId = sessionIdOf(mode, nameOf(mode), options.configFile);
  const requests = openRequests(options, current, log, sessionId);
  await requests.refresh();
  current.active = withGrants(current.active, requests.grants(), options.env);
  const admission = createAdmission({
    proven: mode.kind === 'bare' || !mode.supervised,
    contamination: contaminationOf(options.env, namespaceOf(mode)),
  });
  const stages = {
    ...assemble(options, current, log, upstreams, scrub, requests, () => watch.reload()),
    admission,
  };
  const end = async () => {
    await upstreams.close();
    requests.close();
    await rm(runDir, { recursive: true, force: true });
    await stages.executor.close();
  };
  const described = createDescribing(current, stages.help, offered);
  const regrant = () => {
    const grants = requests.grants();
    if (
      isDeepStrictEqual(
        current.active.granted,
        grants.map(({ id }) => id),
      )
    )
      return;
    // Calls are judged by it at once; clients are told when the tools that came with it are described.
    const active = withGrants(current.active, grants, options.env);
    current.active = active;
    described.again(active).then((better) => {
      if (current.active === active) current.active = better;
      offered.announce();
    }, options.fault);
  };
  requests.onChanged(regrant);
  const listening = await open(options, createCore(stages, offered, described, voice), end);
  const about = { namespace: nameOf(mode), what: 'gateway', pid: process.pid } as const;
  log.append({
    event: 'up',
    ...about,
    facts: { config: snapshot.hash, tools: offered.hash(), session_id: sessionId },
  });
  let reloaded: Reloaded = 'kept';
  const watch = watchConfig({
    file: options.configFile,
    loaded: snapshot.hash,
    onWarn: (warning) => voice.warn(warning),
    onChange: async () => {
      reloaded = await reload({
        load: options.load,
        check,
        current,
        around,
        grants: () => requests.grants(),
        sessionId,
        describe: (active) => described.again(active),
        reconfigure: (servers) => upstreams.reconfigure(servers),
        swapped: () => {
          regrant();
          offered.announce();
        },
        log,
        voice,
        fault: options.fault,
      });
    },
  });
  let closing: Promise<void> | null = null;
  return {
    url: listening.url,
    socket: listening.socket,
    reload: () => watch.reload(),
    supervised: {
      ...admission,
      status: () => {
        const { hash, config } = current.active.snapshot;
        return { config: hash, probe_tool: config.supervisor.probe_tool };
      },
      reload: async () => {
        reloaded = 'kept';
        await watch.reload();
        return reloaded;
      },
      restartServer: (server) => upstreams.restart(server),
      leave: () => listening.leave(),
    },
    close(cause, graceMs) {
      closing ??= (async () => {
        watch.close();
        await listening.close(graceMs);
        await end();
        log.append({ event: 'down', ...about, cause });
        log.close();
      })();
      return closing;
    },
  };
}

/** What was started is ended again where the listeners can't be. */
async function open(options: ServeOptions, core: Core, end: () => Promise<void>): Promise<Listening> {
  try {
    return await listen({
      core,
      token: options.token,
      about: { name: 'wraptool', version: options.version, instructions },
      ...doors(options),
      peers: createPeers((line) => options.voice.note(line)),
      fault: options.fault,
    });
  } catch (error) {
    await end();
    throw error;
  }
}

function assemble(
  { mode, spawner, env, fault }: ServeOptions,
  current: { readonly active: Active },
  log: Log,
  upstreams: Upstreams,
  scrub: Pick<Active['scrubber'], 'stream'>,
  requests: RequestBook,
  reloadConfig: () => Promise<void>,
): Omit<Stages, 'admission'> {
  return {
    active: () => current.active,
    log,
    executor: createExecutor({ spawner, scrub, guards: { git: gitGuard } }),
    upstreams,
    repeats: createRepeats(log.dir),
    help: createHelpReader({ spawner, env, fault }),
    requests,
    refused: createRefusedCalls(log.dir, mode.kind === 'session' ? mode.session.name : null),
    reloadConfig,
    fault,
  };
}

/** What can be restarted, and contaminated: null for a bare gateway without a name. */
function namespaceOf(mode: Mode): string | null {
  return mode.kind === 'session' ? mode.session.name : mode.name;
}

function nameOf(mode: Mode): string {
  return mode.kind === 'session' ? mode.session.name : (mode.name ?? 'serve');
}

/** State that an agent must not reach. */
function statePlaces({ config }: Snapshot, { env, configFile }: ServeOptions): string[] {
  const none = Object.keys(config.mcp_servers).length === 0;
  return [sessionsDir(env), ...(none ? [] : [upstreamState(env, configFile)])];
}

function surroundings({ mode, snapshot, env, token }: ServeOptions): Surroundings {
  const guardState = path.join(stateDir(env), 'guards');
  if (mode.kind === 'bare') {
    const roots = snapshot.config.mcp.allowed_cwd_roots;
    return { env, agentWritable: roots, roots: null, remotes: {}, shared: [], guardState, token };
  }
  const { roots, remotes, shared } = mode.session;
  return {
    env,
    agentWritable: [...roots, path.join(stateDir(env), 'homes')],
    roots,
    remotes,
    shared,
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

function createCore(stages: Stages, offered: Offered, described: Describing, voice: Voice): Core {
  let listed = false;
  return {
    forwardsLogs: () => Object.keys(stages.active().snapshot.config.mcp_servers).length > 0,
    configHash: () => stages.active().snapshot.hash,
    ready: () => described.first(),
    listTools: (caller) => {
      const isHarness = caller !== undefined && !caller.client.startsWith(`${preflightClient.name}/`);
      // Once: a client may ask as often as it likes.
      if (isHarness && !listed) voice.note(listedBy(caller.client));
      listed ||= isHarness;
      return offered.list();
    },
    callTool: (caller, name, args, options) =>
      stages.admission.track(() =>
        handleCall(stages, { caller, name, args: args as Readonly<Record<string, unknown>>, options }),
      ),
    onToolsChanged: (listener) => offered.onChanged(listener),
  };
}
