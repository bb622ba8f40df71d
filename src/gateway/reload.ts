/** Another config in place of the running one: whole, or not at all. */
import { planReload } from '../config/reload.ts';
import type { Config, Snapshot } from '../config/types.ts';
import { WraptoolError } from '../errors.ts';
import type { Log } from '../log/append.ts';
import type { Grant } from '../requests/types.ts';
import { activate, type Active, type Surroundings } from './active.ts';
import type { Voice } from './voice.ts';

export type Reloading = {
  /** Reads and validates the file. */
  readonly load: () => Promise<Snapshot>;
  /** Refuses a config that an agent could reach. */
  readonly check: (snapshot: Snapshot) => Promise<void>;
  /** The one reference that is replaced; a call holds the value that it began with. */
  readonly current: { active: Active };
  readonly around: Surroundings;
  /** Grants that are in force. */
  readonly grants: () => readonly Grant[];
  readonly sessionId: string;
  /** Adds what the programs say of themselves to the tools. */
  readonly describe: (active: Active) => Promise<Active>;
  readonly reconfigure: (servers: Config['mcp_servers']) => void;
  /** The running config is another one. */
  readonly swapped: () => void;
  readonly log: Log;
  readonly voice: Voice;
  readonly fault: (error: unknown) => void;
};

export type Reloaded = 'loaded' | 'kept' | 'swapped';

/** Loads, validates and resolves anew; what fails on the way leaves the running policy as it is, said and logged. */
export async function reload(reloading: Reloading): Promise<Reloaded> {
  const { current, voice } = reloading;
  const running = current.active.snapshot;
  try {
    const { active, waiting } = await prepare(reloading, running);
    // Nothing below can fail half-way: a bad server name throws before anything has changed.
    reloading.reconfigure(active.snapshot.config.mcp_servers);
    current.active = active;
    reloading.swapped();
    const same = active.snapshot.hash === running.hash;
    const waits = waiting.length === 0 ? null : `${waiting.join(', ')} changed: waits for a restart`;
    record(reloading, same ? 'loaded' : 'swapped', active.snapshot.hash, waits);
    voice.note(`config reloaded (${active.snapshot.hash.slice(0, 12)})`);
    if (waits !== null) voice.warn(waits);
    return same ? 'loaded' : 'swapped';
  } catch (error) {
    if (!(error instanceof WraptoolError) || error.code === 'internal') throw error;
    record(reloading, 'kept', running.hash, current.active.scrub(error.message).slice(0, 4096));
    voice.warn(`${error.message}: the running policy stays`);
    for (const problem of error.problems) voice.warn(problem);
    if (error.hint !== undefined) voice.warn(`hint: ${error.hint}`);
    return 'kept';
  }
}

async function prepare(
  { load, check, around, grants, describe }: Reloading,
  running: Snapshot,
): Promise<{ active: Active; waiting: readonly string[] }> {
  const next = await load();
  const { apply, waiting } = planReload(running.config, next.config);
  const snapshot = Object.freeze({ ...next, config: apply });
  await check(snapshot);
  return { active: await describe(await activate(snapshot, around, grants())), waiting };
}

/** A log that can't be written refuses calls by itself; a tighter policy must not wait for it. */
function record(
  { log, fault, sessionId }: Reloading,
  result: Reloaded,
  config: string,
  detail: string | null,
): void {
  try {
    log.append({ event: 'reload', result, config, detail, session_id: sessionId });
  } catch (error) {
    if (!(error instanceof WraptoolError)) throw error;
    fault(error);
  }
}
