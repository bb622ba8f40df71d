/** Our side of a session's control socket. Of the rest of `up` it loads only what is needed: `exec` is to start at once. */
import { existsSync } from 'node:fs';
import { createConnection, type Socket } from 'node:net';
import { join } from 'node:path';
import { assertOperatorsOwn } from '../../config/location.ts';
import { WraptoolError, type ErrorCode } from '../../errors.ts';
import { sessionsDir } from '../../paths.ts';
import { checkName } from '../session-name.ts';
import { controlSocket, readLine, serveSocket, writeLine, type Request } from './line.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** What a supervisor may take for an answer; a busy machine gets ample room. */
const answerMs = 30_000;

export type Answer = { readonly socket: Socket; readonly answer: Request };

/** Asks a session's supervisor; the caller owns the socket. Errors: the supervisor's own, session_unknown, session_unreachable. */
export async function ask(env: Env, name: string, request: Request): Promise<Answer> {
  const dir = join(sessionsDir(env), checkName(name));
  // Another user's folder could hold a supervisor of theirs.
  await assertOperatorsOwn(dir, 'state');
  const serve = serveSocket(sessionsDir(env), name);
  const socket = await connect(env, existsSync(dir) || !existsSync(serve) ? controlSocket(dir) : serve, name);
  try {
    writeLine(socket, request);
    const line = await inTime(readLine(socket), name);
    if (line === null) throw unreachable(name, 'it closed the connection');
    return { socket, answer: accepted(JSON.parse(line) as Request) };
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** An answer as it is. Error: the supervisor's own, where it is one. */
export function accepted(answer: Request): Request {
  const error = answer['error'] as { code: ErrorCode; message: string; hint: string | null } | undefined;
  if (error === undefined) return answer;
  throw new WraptoolError(error.code, error.message, { hint: error.hint ?? undefined });
}

async function connect(env: Env, file: string, name: string): Promise<Socket> {
  const socket = createConnection(file);
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject);
      socket.once('connect', resolve);
    });
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
    if (file === serveSocket(sessionsDir(env), name)) throw unreachable(name, why);
    throw await whyNot(env, name, why);
  }
  socket.removeAllListeners('error');
  // The end of the other side is told by what is read.
  socket.on('error', () => socket.destroy());
  return socket;
}

async function whyNot(env: Env, name: string, code: string): Promise<WraptoolError> {
  const { findSession } = await import('../session.ts');
  const { alive } = await findSession(env, name);
  if (alive) return unreachable(name, code);
  return new WraptoolError('session_unknown', `the session "${name}" has ended: its supervisor is gone`, {
    hint: '"wraptool ps" removes what it left',
  });
}

async function inTime<T>(asked: Promise<T>, name: string): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(unreachable(name, `no answer in ${answerMs / 1000} s`)),
    answerMs,
  );
  try {
    return await Promise.race([asked, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

function unreachable(name: string, why: string): WraptoolError {
  return new WraptoolError('session_unreachable', `the supervisor of "${name}" does not answer: ${why}`, {
    hint: `look with "wraptool inspect ${name}"; "wraptool down ${name}" ends it`,
  });
}
