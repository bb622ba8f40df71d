/** What clients are offered now: the commands of the active config and the tools of upstream servers, as one list. */
import { createHash } from 'node:crypto';
import { parseName } from '../proxy/names.ts';
import type { Upstreams } from '../proxy/types.ts';
import type { Active } from './active.ts';
import type { ToolDescription } from './core.ts';
import type { Registered } from './registry.ts';

export interface Offered {
  /** Sorted, the same for every connection. Starts lazy servers in the background. */
  list(): readonly ToolDescription[];
  /** Tells apart two lists, descriptions and schemas included. */
  hash(): string;
  onChanged(listener: () => void): () => void;
  /** Takes the list as it is for the one that clients know: none was given another. */
  settle(): void;
  /** Something may have changed: tells the listeners once for each list that is another one. */
  announce(): void;
}

export function createOffered(active: () => Active, upstreams: Upstreams): Offered {
  const listeners = new Set<() => void>();
  let announced = digest(merge(active(), upstreams, false));
  const offered: Offered = {
    list: () => merge(active(), upstreams, true),
    hash: () => announced,
    onChanged(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    settle() {
      announced = digest(merge(active(), upstreams, false));
    },
    announce() {
      const now = digest(merge(active(), upstreams, false));
      if (now === announced) return;
      announced = now;
      for (const listener of listeners) listener();
    },
  };
  upstreams.onChanged(() => offered.announce());
  return offered;
}

/** A name to what it stands for; a tool of a configured server is one whether it is allowed or not. */
export function findTool({ registry, snapshot }: Active, name: string): Registered | undefined {
  const registered = registry.find(name);
  if (registered !== undefined) return registered;
  const parsed = parseName(name);
  if (parsed === null || !Object.hasOwn(snapshot.config.mcp_servers, parsed.server)) return undefined;
  return { kind: 'upstream', name, ...parsed };
}

function merge({ registry }: Active, upstreams: Upstreams, start: boolean): readonly ToolDescription[] {
  const theirs = upstreams.list({ start });
  if (theirs.length === 0) return registry.tools;
  return [...registry.tools, ...theirs].sort((a, b) => (a.name < b.name ? -1 : 1));
}

const digest = (tools: readonly ToolDescription[]) =>
  createHash('sha256').update(JSON.stringify(tools)).digest('hex');
