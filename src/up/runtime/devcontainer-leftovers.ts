/** What a session in a Dev Container may leave behind, and its end. */
import { processRef, signal, waitForEnd } from '../../supervise/process.ts';
import { makerVariable } from './devcontainer-cli.ts';
import type { Engine } from './docker.ts';
import { withVariable } from './orphans.ts';

/** The CLI and the engine's client go on making a container for a supervisor that is dead. */
export async function endMakers(sessionId: string): Promise<readonly string[]> {
  const lines: string[] = [];
  // Again until there is none: one may have started another just before its end.
  for (let round = 0; round < 5; round += 1) {
    const pids = await withVariable(`${makerVariable}=${sessionId}`);
    if (pids.length === 0) break;
    for (const pid of pids) {
      const maker = await processRef(pid);
      if (maker === null || !(await signal(maker, 'SIGKILL'))) continue;
      await waitForEnd(maker, 2000);
      lines.push(`ended what was still making its container (pid ${pid})`);
    }
  }
  // What they asked the engine for last, it may be making still.
  if (lines.length > 0) await new Promise((resolve) => setTimeout(resolve, 1000));
  return lines;
}

/** One line for each container that was removed. */
export async function removeLabelled(engine: Engine, wanted: readonly string[]): Promise<readonly string[]> {
  const lines: string[] = [];
  for (const { id, name } of await engine.labelled(wanted)) {
    await engine.remove(id);
    lines.push(`removed the container "${name}" (${id.slice(0, 12)})`);
  }
  return lines;
}
