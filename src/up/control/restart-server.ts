/**
 * The supervisor's half of `restart`: judged by the gates in its own environment, written to the log whatever comes of it,
 * and only then done. Nothing that the client says but namespace, mode and phrase counts.
 */
import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { WraptoolError } from '../../errors.ts';
import { actionIdOf, type GateFacts, type RestartRequest } from '../../restart/gate.ts';
import type { Health } from '../../restart/health.ts';
import { parseHook } from '../../restart/hook.ts';
import { answer, preview, rateLimited, type Answer } from '../../restart/preview.ts';
import { principalOfPassedOn, principalOfPeer, type Principal } from '../../restart/principal.ts';
import type { Marker, Mode } from '../../restart/types.ts';
import type { Credentials } from '../../supervise/credentials.ts';
import type { Audit } from '../audit.ts';
import type { RestartResult } from '../outcomes.ts';
import { knownNamespaces } from '../namespaces.ts';
import { writeLine, type Request } from './line.ts';
import type { Handler } from './server.ts';
import type { Turns } from './turns.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** Of the supervisor's environment when it started. */
export type Arming = {
  readonly operatorAuthorization: string | undefined;
  readonly hook: string | undefined;
};

export type RestartSupervisor = {
  /** The namespace that this supervisor answers for; servers are below it. */
  readonly name: string;
  /** Id of the session, for the log; null where there is none. */
  readonly sessionId: string | null;
  readonly env: Env;
  readonly arming: Arming;
  readonly audit: Audit;
  readonly turns: Turns;
  /** Markers that count although they could not be written yet. */
  unwritten?(): Promise<readonly Marker[]>;
  /** Carries it out. `server`: only that upstream server. Never rejects for what a gateway does. */
  act(
    hook: NonNullable<ReturnType<typeof parseHook>>,
    mode: Mode,
    server: string | null,
  ): Promise<RestartResult>;
  health(): Promise<Health>;
  note(text: string): void;
};

/** Second line of the answer to `wait`. */
export type RestartOutcome = RestartResult & { readonly health: Health };

export function restartHandler(supervisor: RestartSupervisor): Handler {
  return async (request, connection, peer) => {
    const asked = read(request);
    const [parent, server = null] = asked.namespace.split('/', 2);
    if (parent !== supervisor.name)
      throw new WraptoolError('usage', `the supervisor of "${supervisor.name}" does not answer for another`);
    const principal = principalOf(request, peer);
    const facts = await factsFor(supervisor, principal);
    if (request['preview'] === true) {
      writeLine(connection, { ok: true, preview: preview(asked, facts) });
      return;
    }
    const ids = {
      restart: randomBytes(8).toString('hex'),
      ...(supervisor.sessionId === null ? {} : { session: supervisor.sessionId }),
    };
    const record = (result: string, reason: string): Promise<void> =>
      supervisor.audit.record({
        event: 'restart',
        namespace: asked.namespace.slice(0, 200),
        actor: facts.principal.actor,
        mode: asked.mode.slice(0, 100),
        result,
        reason,
        action_id: actionIdOf(asked.mode).slice(0, 200),
        ids,
      });
    const judged = await inTurn(supervisor, asked, request['progress'] === true, connection, {
      first: answer(asked, facts),
      again: async () => answer(asked, await factsFor(supervisor, principal)),
    });
    // Nobody is there any more to whom it was worth waiting for.
    if (judged === null) return record('withdrawn', 'asker_gone');
    // What can't be logged is not done.
    await record(judged.allowed ? 'handed_over' : 'refused', judged.reason_code);
    writeLine(connection, { ok: true, answer: judged });
    const hook = parseHook(supervisor.arming.hook);
    if (!judged.allowed || hook === null) return;
    const wait = request['wait'] === true;
    if (!wait) connection.end();
    const outcome = await carryOut(supervisor, asked, () => supervisor.act(hook, asked.mode as Mode, server));
    // It is done all the same, and who waits is told so.
    await record(outcome.result, outcome.reason ?? outcome.health.status).catch((error: unknown) => {
      if (!(error instanceof WraptoolError)) throw error;
      const { namespace, mode } = asked;
      supervisor.note(
        `what came of "${mode} ${namespace}" (${outcome.result}) is not in the log: ${error.message}`,
      );
    });
    if (wait) writeLine(connection, { ok: true, outcome });
  };
}

/** What may be done waits for its turn, and is judged again where it waited. Null: whoever asked has gone. */
async function inTurn(
  { turns }: RestartSupervisor,
  { namespace }: RestartRequest,
  progress: boolean,
  connection: Socket,
  judge: { readonly first: Answer; readonly again: () => Promise<Answer> },
): Promise<Answer | null> {
  if (!judge.first.allowed) return judge.first;
  const gone = new AbortController();
  const leave = (): void => gone.abort();
  connection.once('close', leave);
  if (connection.destroyed) leave();
  // Without a reader its end is not noticed. It has nothing more to say.
  connection.resume();
  const say = (ms: number): void => {
    if (progress) writeLine(connection, { ok: true, waiting_ms: ms });
  };
  try {
    const turn = await turns.take(namespace, say, gone.signal);
    if (turn === 'gone') return null;
    if (typeof turn === 'object') return rateLimited(judge.first, turn.retryAfterMs);
    return turn === 'now' ? judge.first : await judge.again();
  } finally {
    connection.off('close', leave);
  }
}

async function carryOut(
  supervisor: RestartSupervisor,
  { namespace }: RestartRequest,
  act: () => Promise<RestartResult>,
): Promise<RestartOutcome> {
  let done: RestartResult;
  try {
    done = await act();
  } catch (error) {
    // Whatever it was, the log has to say that it was not done.
    const { code, message } =
      error instanceof WraptoolError ? error : new WraptoolError('internal', String(error));
    done = { result: 'failed', reason: code, detail: message };
  }
  const after = await supervisor.health();
  if (done.result !== 'failed') return { ...done, health: { ...after, namespace } };
  const reasons = [...after.reasons, ...(done.detail === null ? [] : [done.detail])];
  return {
    ...done,
    health: {
      ...after,
      namespace,
      status: after.status === 'clean' ? 'unhealthy' : after.status,
      clean_claim_allowed: false,
      reasons,
    },
  };
}

/** From the connection; a page says for whose login it asks. */
function principalOf(request: Request, peer: Credentials | null): Principal {
  const own = principalOfPeer(peer?.uid ?? null, process.geteuid?.() ?? 0);
  return request['login'] === undefined ? own : principalOfPassedOn(own, request['login']);
}

async function factsFor(supervisor: RestartSupervisor, principal: Principal): Promise<GateFacts> {
  const { env, arming } = supervisor;
  const unwritten = (await supervisor.unwritten?.()) ?? [];
  const { namespaces, markers } = await knownNamespaces(env, (text) => supervisor.note(text));
  return { principal, namespaces, markers: [...markers, ...unwritten], ...arming };
}

function read(request: Request): RestartRequest {
  const { namespace, mode, confirm } = request;
  if (
    typeof namespace === 'string' &&
    typeof mode === 'string' &&
    (confirm === null || typeof confirm === 'string')
  )
    return { namespace, mode, confirm };
  throw new WraptoolError('usage', 'a request to restart has a namespace, a mode and a phrase or null', {
    hint: 'use the version of wraptool that started the session',
  });
}
