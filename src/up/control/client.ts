/** Our side of a session's control socket. */
import { createConnection, type Socket } from 'node:net';
import { WraptoolError, type ErrorCode } from '../../errors.ts';
import { findSession, type Session } from '../session.ts';
import { readLine, writeLine } from './line.ts';
import { controlSocket, type Request } from './server.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** What a supervisor may take for an answer; a busy machine gets ample room. */
const answerMs = 30_000;

export type Answer = { readonly session: Session; readonly socket: Socket; readonly answer: Request };

/** The living session of that name. Errors: session_unknown (also for one whose supervisor is gone). */
export async function livingSession(env: Env, name: string): Promise<Session> {
  const { session, alive } = await findSession(env, name);
  if (alive) return session;
  throw new WraptoolError('session_unknown', `the session "${name}" has ended: its supervisor is gone`, {
    hint: '"wraptool ps" removes what it left',
  });
}

/** Asks a session's supervisor; the caller owns the socket. Errors: the supervisor's own, session_unknown, session_unreachable. */
export async function ask(env: Env, name: string, request: Request): Promise<Answer> {
  const session = await livingSession(env, name);
  const socket = await connect(controlSocket(session.dir), name);
  try {
    writeLine(socket, request);
    const line = await inTime(readLine(socket), name);
    if (line === null) throw unreachable(name, 'it closed the connection');
    const answer = JSON.parse(line) as Request & {
      error?: { code: ErrorCode; message: string; hint: string | null };
    };
    if (answer.error === undefined) return { session, socket, answer };
    const { code, message, hint } = answer.error;
    throw new WraptoolError(code, message, { hint: hint ?? undefined });
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

function connect(file: string, name: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = createConnection(file);
    socket.once('error', (error: NodeJS.ErrnoException) => reject(unreachable(name, error.code ?? error.message)));
    socket.once('connect', () => {
      socket.removeAllListeners('error');
      // The end of the other side is told by what is read.
      socket.on('error', () => socket.destroy());
      resolve(socket);
    });
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
