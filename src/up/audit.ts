/** What the supervisor does to a gateway, in the log: a file of its own, begun with the first such event. */
import { openLog, type Log } from '../log/append.ts';
import type { LogEvent } from '../log/record.ts';

export type AuditEvent = Extract<LogEvent, { event: 'restart' | 'contamination' }>;

export class Audit {
  readonly #dir: string;
  readonly #session: string | null;
  #log: Promise<Log> | null = null;

  /** `session`: its name; null where there is none. */
  constructor(dir: string, session: string | null) {
    this.#dir = dir;
    this.#session = session;
  }

  /** On the disk when it resolves. Error: log_unavailable. */
  async record(event: AuditEvent): Promise<void> {
    this.#log ??= openLog(this.#dir, { session: this.#session });
    const opening = this.#log;
    try {
      (await opening).append(event);
    } catch (error) {
      // The next event begins another file.
      if (this.#log === opening) {
        this.#log = null;
        await opening.then(
          (log) => log.close(),
          () => undefined,
        );
      }
      throw error;
    }
  }

  async close(): Promise<void> {
    const log = this.#log;
    this.#log = null;
    (await log)?.close();
  }
}
