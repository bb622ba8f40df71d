/** Waiting calls of one tool for each that may run; with that many waiting the next is refused. */
const waitingPerSlot = 8;

type Line = { running: number; readonly waiting: Set<() => void> };

/** At most so many calls of a tool at once, the others in order of arrival, and not too many of those. */
export class Queue {
  readonly #lines = new Map<string, Line>();

  /** Resolves with the release, with `busy` when too many wait, and with `cancelled` when the signal came first. */
  async enter(tool: string, max: number, signal: AbortSignal): Promise<(() => void) | 'busy' | 'cancelled'> {
    if (signal.aborted) return 'cancelled';
    const line = this.#lines.get(tool) ?? { running: 0, waiting: new Set() };
    this.#lines.set(tool, line);
    if (line.running >= max) {
      if (line.waiting.size >= max * waitingPerSlot) return 'busy';
      if (!(await turn(line, signal))) return 'cancelled';
    } else {
      line.running++;
    }
    return () => this.#leave(tool, line);
  }

  /** The place is handed over, so that no newcomer can take it in between. */
  #leave(tool: string, line: Line): void {
    const [next] = line.waiting;
    if (next !== undefined) return next();
    line.running--;
    if (line.running === 0) this.#lines.delete(tool);
  }
}

async function turn(line: Line, signal: AbortSignal): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const go = (): void => settle(true);
  const stop = (): void => settle(false);
  const settle = (mine: boolean): void => {
    line.waiting.delete(go);
    signal.removeEventListener('abort', stop);
    resolve(mine);
  };
  line.waiting.add(go);
  signal.addEventListener('abort', stop, { once: true });
  return await promise;
}
