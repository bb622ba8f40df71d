/** While a session runs: tells of what its agent asks the operator for. */
import { followKeys } from '../log/keys.ts';

const lookMs = 1_000;

/** Calls `announce` once for each new request of the session, until released. `fault`: the log could not be read. */
export function announceRequests(options: {
  /** Folder of the log. */
  readonly dir: string;
  readonly sessionId: string;
  readonly announce: (id: string) => void;
  readonly fault: (error: unknown) => void;
}): () => void {
  const follower = followKeys(options.dir);
  let looking = false;
  const look = async (): Promise<void> => {
    if (looking) return;
    looking = true;
    try {
      for (const { record } of await follower.poll())
        if (record.event === 'requested' && record.session_id === options.sessionId)
          options.announce(record.id);
    } finally {
      looking = false;
    }
  };
  const timer = setInterval(() => {
    look().catch((error: unknown) => {
      // Once is enough to know it, and the terminal is the harness's.
      clearInterval(timer);
      options.fault(error);
    });
  }, lookMs);
  timer.unref();
  return () => clearInterval(timer);
}
