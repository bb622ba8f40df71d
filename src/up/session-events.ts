/** What a session's supervisor did and saw: NAME/events.jsonl, one line per event, gone with the session. */
import { appendFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';

export type SessionEvent = {
  /** ISO time. */
  readonly time: string;
  readonly what: string;
  readonly detail?: unknown;
};

export function eventsFile(sessionDir: string): string {
  return path.join(sessionDir, 'events.jsonl');
}

/** Written at once: the next moment may be this process's last. A folder that has been removed takes no more. */
export function recordEvent(sessionDir: string, what: string, detail?: unknown): void {
  const event: SessionEvent = {
    time: new Date().toISOString(),
    what,
    ...(detail === undefined ? {} : { detail }),
  };
  try {
    appendFileSync(eventsFile(sessionDir), `${JSON.stringify(event)}\n`, { mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

export async function readEvents(sessionDir: string): Promise<SessionEvent[]> {
  try {
    const text = await readFile(eventsFile(sessionDir), 'utf8');
    // The last piece is empty, or a line that is being written.
    return text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as SessionEvent);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
