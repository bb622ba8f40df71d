/** Our side of a restart: asked of the supervisor that the namespace belongs to. */
import type { Socket } from 'node:net';
import type { Role } from '../../restart/actions.ts';
import type { Answer, Preview } from '../../restart/preview.ts';
import { WraptoolError } from '../../errors.ts';
import { accepted, ask } from './client.ts';
import { readLine, type Request } from './line.ts';
import type { RestartOutcome } from './restart-server.ts';

type Env = Readonly<Record<string, string | undefined>>;

export type Asked = {
  readonly namespace: string;
  readonly mode: string;
  readonly confirm: string | null;
  /** For whom a page asks: it may be less than what this process may do, never more. */
  readonly login?: Role | null;
};

/** Error: session_unreachable. */
export async function askPreview(env: Env, supervisor: string, asked: Asked): Promise<Preview> {
  const { socket, answer } = await ask(env, supervisor, { do: 'restart', ...asked, preview: true });
  socket.destroy();
  return answer['preview'] as Preview;
}

/**
 * `outcome`: null where it was refused, or not waited for. `turn` is told for how long it waits for its turn, in ms. Errors:
 * session_unreachable; log_unavailable.
 */
export async function askRestart(
  env: Env,
  supervisor: string,
  asked: Asked,
  wait: boolean,
  turn: (ms: number) => void,
): Promise<{ readonly answer: Answer; readonly outcome: RestartOutcome | null }> {
  const { socket, answer: first } = await ask(env, supervisor, {
    do: 'restart',
    ...asked,
    wait,
    progress: true,
  });
  try {
    const waits = first['waiting_ms'];
    if (typeof waits === 'number') turn(waits);
    const line = typeof waits === 'number' ? await next(socket, supervisor) : first;
    const answer = line['answer'] as Answer;
    if (!answer.allowed || !wait) return { answer, outcome: null };
    const outcome = (await next(socket, supervisor))['outcome'] as RestartOutcome;
    return { answer, outcome };
  } finally {
    socket.destroy();
  }
}

/** What the supervisor says next, however long it takes. Errors: its own; session_unreachable where it ended. */
async function next(socket: Socket, supervisor: string): Promise<Request> {
  const line = await readLine(socket);
  if (line !== null) return accepted(JSON.parse(line) as Request);
  throw new WraptoolError('session_unreachable', 'the supervisor did not say how it went', {
    hint: `look with "wraptool inspect ${supervisor}"`,
  });
}
