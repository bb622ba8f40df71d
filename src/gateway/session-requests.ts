/** The gateway's requests: to whom they are bound, and who is told of a new one. */
import { createHash } from 'node:crypto';
import type { Log } from '../log/append.ts';
import { createRequestBook, type RequestBook } from '../requests/book.ts';
import { createNotifier } from '../requests/notify.ts';
import type { Active } from './active.ts';
import type { ServeOptions } from './serve.ts';

/** `current` names the notify program at the time of each request. */
export function openRequests(
  {
    configFile,
    env,
    voice,
    fault,
    attention,
  }: Pick<ServeOptions, 'configFile' | 'env' | 'voice' | 'fault' | 'attention'>,
  current: { readonly active: Active },
  log: Log,
  sessionId: string,
): RequestBook {
  const notifier = createNotifier(env, (line) => voice.warn(line));
  return createRequestBook({
    log,
    sessionId,
    configFile,
    fault,
    onRequest: (request) => {
      notifier.notify(current.active.snapshot.config.requests.notify, request);
      attention?.(request);
    },
  });
}

/** What requests and grants are bound to. A bare gateway has no session: the same config and name are the same to it. */
export function sessionIdOf(mode: ServeOptions['mode'], name: string, configFile: string): string {
  if (mode.kind === 'session') return mode.session.id;
  const about = JSON.stringify([configFile, name]);
  return `serve-${createHash('sha256').update(about).digest('hex').slice(0, 16)}`;
}
