/** Our side of a restart: asked of the supervisor that the namespace belongs to. */
import type { Answer, Preview } from '../../restart/preview.ts';
import { WraptoolError } from '../../errors.ts';
import { ask } from './client.ts';
import { readLine } from './line.ts';
import type { RestartOutcome } from './restart-server.ts';

type Env = Readonly<Record<string, string | undefined>>;

export type Asked = { readonly namespace: string; readonly mode: string; readonly confirm: string | null };

/** Error: session_unreachable. */
export async function askPreview(env: Env, supervisor: string, asked: Asked): Promise<Preview> {
  const { socket, answer } = await ask(env, supervisor, { do: 'restart', ...asked, preview: true });
  socket.destroy();
  return answer['preview'] as Preview;
}

/** `outcome`: null where it was refused, or not waited for. Errors: session_unreachable; log_unavailable. */
export async function askRestart(
  env: Env,
  supervisor: string,
  asked: Asked,
  wait: boolean,
): Promise<{ readonly answer: Answer; readonly outcome: RestartOutcome | null }> {
  const { socket, answer: line } = await ask(env, supervisor, { do: 'restart', ...asked, wait });
  try {
    const answer = line['answer'] as Answer;
    if (!answer.allowed || !wait) return { answer, outcome: null };
    const last = await readLine(socket);
    const outcome = last === null ? null : (JSON.parse(last) as { outcome?: RestartOutcome }).outcome;
    if (outcome !== null && outcome !== undefined) return { answer, outcome };
    throw new WraptoolError('session_unreachable', 'the supervisor did not say how it went', {
      hint: `look with "wraptool inspect ${supervisor}"`,
    });
  } finally {
    socket.destroy();
  }
}
