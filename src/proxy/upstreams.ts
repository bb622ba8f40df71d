/** All configured servers: one list, one place to call. */
import { WraptoolError } from '../errors.ts';
import { byName } from './catalog.ts';
import { checkServerName, parseName } from './names.ts';
import { canonicalJson } from './pin.ts';
import { Upstream } from './upstream.ts';
import type { Limits, McpServerConfig, UpstreamDeps, Upstreams, UpstreamTool } from './types.ts';

type Servers = Readonly<Record<string, McpServerConfig>>;

const defaults: Limits = {
  messageBytes: 16 * 1024 * 1024,
  skippedBytes: 256 * 1024 * 1024,
  callsInFlight: 64,
  startMs: 60_000,
  closeMs: 1_000,
  termMs: 2_000,
  unsolicited: 500,
  // The first restart is at once.
  backoffMs: (failures) => (failures < 2 ? 0 : Math.min(60_000, 1_000 * 2 ** (failures - 2))),
};

/** @throws WraptoolError config_invalid for a server's name that breaks the rules. */
export function createUpstreams(config: Servers, deps: UpstreamDeps): Upstreams {
  return new All(config, deps);
}

class All implements Upstreams {
  readonly #deps: UpstreamDeps;
  readonly #limits: Limits;
  readonly #listeners = new Set<() => void>();
  readonly #leaving = new Set<Promise<void>>();
  #servers = new Map<string, Upstream>();
  #announced = '[]';
  #closed = false;

  constructor(config: Servers, deps: UpstreamDeps) {
    this.#deps = deps;
    this.#limits = { ...defaults, ...deps.limits };
    this.reconfigure(config);
  }

  list({ start = true }: { readonly start?: boolean } = {}): readonly UpstreamTool[] {
    if (start && !this.#closed) for (const server of this.#servers.values()) server.warm();
    return this.#registered();
  }

  call: Upstreams['call'] = async (name, args, options) => {
    const parsed = parseName(name);
    const server = parsed === null ? undefined : this.#servers.get(parsed.server);
    if (parsed !== null && server !== undefined) return await server.call(parsed.tool, args, options);
    return {
      kind: 'refused',
      reason: 'upstream_tool_not_allowed',
      detail: `there is no upstream tool '${name}'`,
    };
  };

  onChanged(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  status: Upstreams['status'] = () => [...this.#servers.values()].map((server) => server.status());

  reconfigure(next: Servers): void {
    for (const name of Object.keys(next)) checkServerName(name);
    const servers = new Map<string, Upstream>();
    for (const [name, config] of Object.entries(next).sort(([one], [other]) => (one < other ? -1 : 1))) {
      const old = this.#servers.get(name);
      if (old !== undefined && sameProcess(old.config, config)) old.update(config);
      servers.set(
        name,
        old !== undefined && sameProcess(old.config, config) ? old : this.#create(name, config),
      );
    }
    for (const old of this.#servers.values()) if (servers.get(old.name) !== old) this.#leave(old.retire());
    this.#servers = servers;
    for (const server of servers.values()) if (server.config.start === 'eager') server.warm();
    this.#changed();
  }

  async restart(server: string): Promise<void> {
    await this.#named(server).restart();
  }

  setLogLevel(level: string): void {
    for (const server of this.#servers.values()) server.setLogLevel(level);
  }

  async acceptPin(server: string, tool: string, sha256?: string): Promise<void> {
    await this.#named(server).offer.accept(tool, sha256);
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const server of this.#servers.values()) this.#leave(server.close());
    await Promise.all(this.#leaving);
  }

  #create(name: string, config: McpServerConfig): Upstream {
    const server = new Upstream(name, config, this.#deps, this.#limits, () => {
      // One that is on its way out changes nothing any more.
      if (this.#servers.get(name) === server) this.#changed();
    });
    return server;
  }

  #registered(): readonly UpstreamTool[] {
    return [...this.#servers.values()].flatMap((server) => server.offer.registered()).sort(byName);
  }

  #named(server: string): Upstream {
    const found = this.#servers.get(server);
    if (found !== undefined) return found;
    throw new WraptoolError('usage', `there is no upstream server '${server}'`, {
      hint: `mcp_servers has ${[...this.#servers.keys()].join(', ') || 'none'}`,
    });
  }

  #leave(work: Promise<void>): void {
    const leaving = work.finally(() => this.#leaving.delete(leaving));
    this.#leaving.add(leaving);
  }

  /** Something may have changed: said once for each list that is another one. */
  #changed(): void {
    const now = canonicalJson(this.#registered());
    if (now === this.#announced) return;
    this.#announced = now;
    for (const listener of this.#listeners) listener();
  }
}

function sameProcess(one: McpServerConfig, other: McpServerConfig): boolean {
  const part = ({ command, args, env, cwd }: McpServerConfig) => canonicalJson({ command, args, env, cwd });
  return part(one) === part(other);
}
