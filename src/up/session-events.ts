/** What a session's supervisor did and saw: NAME/events.jsonl, one line per event, gone with the session. */
import { closeSync, constants, openSync, writeSync } from 'node:fs';
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

/** Begins the file; a folder that is being removed gets none anew. */
export function openEvents(sessionDir: string): void {
  closeSync(openSync(eventsFile(sessionDir), 'ax', 0o600));
}

/** Written at once: the next moment may be this process's last. A session that has been removed takes no more. */
export function recordEvent(sessionDir: string, what: string, detail?: unknown): void {
  const event: SessionEvent = {
    time: new Date().toISOString(),
    what,
    ...(detail === undefined ? {} : { detail }),
  };
  let file;
  try {
    file = openSync(eventsFile(sessionDir), constants.O_WRONLY | constants.O_APPEND);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  try {
    writeSync(file, `${JSON.stringify(event)}\n`);
  } finally {
    closeSync(file);
  }
}
