/** Upstream MCP servers as a gateway runs them: where their state lies, and what the operator is told. */
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Config } from '../config/types.ts';
import { homeDir, stateDir } from '../paths.ts';
import type { Scrub, UpstreamEvent, Upstreams } from '../proxy/types.ts';
import { createUpstreams } from '../proxy/upstreams.ts';
import type { Voice } from './voice.ts';

type Env = Readonly<Record<string, string | undefined>>;

export type UpstreamOptions = {
  readonly servers: Config['mcp_servers'];
  readonly env: Env;
  /** As it was named; pins belong to it. */
  readonly configFile: string;
  /** Of a session; a bare gateway makes one of its own. */
  readonly sessionDir: string | null;
  readonly agentWritable: readonly string[];
  readonly scrub: Scrub;
  readonly version: string;
  readonly voice: Voice;
};

/** `runDir` is to be removed once they are closed. */
export type RunningUpstreams = { readonly upstreams: Upstreams; readonly runDir: string };

/** Pins and last known lists of one config's servers. */
export function upstreamState(env: Env, configFile: string): string {
  const name = createHash('sha256').update(configFile).digest('hex').slice(0, 12);
  return path.join(stateDir(env), 'upstreams', name);
}

/** @throws WraptoolError config_invalid for a server's name that breaks the rules. */
export async function startUpstreams(options: UpstreamOptions): Promise<RunningUpstreams> {
  const { servers, env, voice } = options;
  const runDir = await makeRunDir(env, options.sessionDir);
  const upstreams = createUpstreams(servers, {
    scrub: options.scrub,
    onEvent: (event) => tell(event, voice),
    home: homeDir(env),
    agentWritable: options.agentWritable,
    stateDir: upstreamState(env, options.configFile),
    runDir,
    client: { name: 'wraptool', version: options.version },
  });
  return { upstreams, runDir };
}

async function makeRunDir(env: Env, sessionDir: string | null): Promise<string> {
  if (sessionDir !== null) {
    const dir = path.join(sessionDir, 'servers');
    await mkdir(dir, { recursive: true, mode: 0o700 });
    // Its own: while a session's gateway is replaced there are two of them.
    return await mkdtemp(path.join(dir, `${process.pid}-`));
  }
  const parent = path.join(stateDir(env), 'serve');
  await mkdir(parent, { recursive: true, mode: 0o700 });
  await removeDead(parent);
  return await mkdtemp(path.join(parent, `${process.pid}-`));
}

/** A gateway that was killed could not remove its own. */
async function removeDead(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const pid = Number(/^(\d+)-/.exec(name)?.[1]);
    if (!isAlive(pid)) await rm(path.join(parent, name), { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  if (!Number.isSafeInteger(pid)) return true;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

function tell(event: UpstreamEvent, voice: Voice): void {
  const subject = `upstream server '${event.server}'`;
  switch (event.kind) {
    case 'started':
      return voice.note(`${subject} runs as pid ${event.pid}`);
    case 'stopped':
      return voice.note(`${subject} was stopped`);
    case 'failed':
      // Also said of one that was ended while it started.
      if (event.reason === 'was stopped') return voice.note(`${subject} was stopped`);
      return voice.warn(`${subject} ${event.reason}`);
    case 'tool_hidden':
      return voice.warn(
        `${subject}: its tool '${event.tool}' is hidden: ${event.detail} (wraptool mcp list shows it)`,
      );
    case 'problem':
      return voice.warn(`${subject}: ${event.detail}`);
    case 'output':
      return voice.note(`${event.server}: ${event.line}`);
    case 'message':
      return voice.note(
        `${event.server}: ${event.message.level}: ${(JSON.stringify(event.message.data) ?? '').slice(0, 2_000)}`,
      );
  }
}
