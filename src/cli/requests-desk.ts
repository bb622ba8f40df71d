/** Flags of `requests` and `grants`, and the desk that they are for. */
import os from 'node:os';
import type { Command } from 'commander';
import { configPath, loadConfig } from '../config/load.ts';
import { parseDuration } from '../config/scalars.ts';
import { WraptoolError } from '../errors.ts';
import type { Desk, ScopeChoice } from '../requests/desk.ts';
import type { Ledger } from '../requests/ledger.ts';
import { isRunning, readLedger } from '../requests/read.ts';
import type { Request } from '../requests/types.ts';

export type Where = { readonly config?: string; readonly json?: boolean };

export type ScopeFlags = {
  readonly apply?: boolean;
  readonly once?: boolean;
  readonly uses?: string;
  readonly for?: string;
  readonly session?: boolean;
};

/** Adds what every command of the two groups takes. */
export function common(command: Command): Command {
  return command
    .option('--config <file>', 'the config file, which names the log')
    .option('--json', 'as JSON');
}

/** What there is: loads nothing that only a decision needs. */
export async function openLedger({ config }: Where): Promise<Ledger> {
  const snapshot = await loadConfig({ path: config, env: process.env, locations: false });
  const reader = readLedger(snapshot.config.requests.log);
  await reader.refresh();
  return reader.ledger;
}

export async function openDesk({ config }: Where): Promise<{ desk: Desk; dir: string }> {
  const env = process.env;
  const { Desk: Opened } = await import('../requests/desk.ts');
  const snapshot = await loadConfig({ path: config, env, locations: false });
  const dir = snapshot.config.requests.log;
  return { dir, desk: new Opened({ dir, config: configPath({ path: config, env }), env, actor: actor() }) };
}

/** Who decides: the user that runs this, and by sudo who that is. */
function actor(): string {
  const username = userName();
  const before = process.env['SUDO_USER'];
  return before === undefined || before === username ? username : `${username} (${before})`;
}

function userName(): string {
  try {
    return os.userInfo().username;
  } catch (error) {
    // A user id without a name, as in many containers.
    if ((error as NodeJS.ErrnoException).code === 'ERR_SYSTEM_ERROR') return `uid ${process.getuid?.()}`;
    throw error;
  }
}

/** The scope that was asked for; null where none was. Throws usage. */
export function scopeOf(flags: ScopeFlags): ScopeChoice | null {
  const named = [
    flags.apply ? '--apply' : null,
    flags.once ? '--once' : null,
    flags.uses === undefined ? null : '--uses',
    flags.for === undefined ? null : '--for',
    flags.session ? '--session' : null,
  ].filter((name) => name !== null);
  if (named.length > 1)
    throw new WraptoolError('usage', `${named.join(' and ')} cannot go together`, {
      hint: 'an approval has one scope',
    });
  if (flags.apply) return { scope: 'apply' };
  if (flags.once) return { scope: 'once' };
  if (flags.session) return { scope: 'session' };
  if (flags.uses !== undefined) return { scope: 'uses', uses: usesOf(flags.uses) };
  if (flags.for !== undefined) return { scope: 'for', ms: durationOf(flags.for) };
  return null;
}

function usesOf(text: string): number {
  const uses = /^[0-9]{1,6}$/.test(text) ? Number(text) : 0;
  if (uses > 0) return uses;
  throw new WraptoolError('usage', `--uses takes a whole number from 1, not "${text}"`);
}

function durationOf(text: string): number {
  const ms = parseDuration(text);
  if (ms !== null) return ms;
  throw new WraptoolError(
    'usage',
    `--for takes a duration such as 30m (ms, s, m, h; at most 24h), not "${text}"`,
  );
}

/** Sessions of these requests that have ended: nobody is left to use a grant. By id. */
export async function endedSessions(ledger: Ledger, requests: readonly Request[]): Promise<Set<string>> {
  const maybe = requests.filter(
    (request) => request.status === 'pending' && request.session !== null && !isRunning(ledger, request),
  );
  if (maybe.length === 0) return new Set();
  const { listSessions } = await import('../up/session.ts');
  const living = new Set(
    (await listSessions(process.env)).flatMap(({ session, alive }) =>
      alive && session ? [session.state.id] : [],
    ),
  );
  return new Set(
    maybe.flatMap(({ sessionId }) => (sessionId === null || living.has(sessionId) ? [] : [sessionId])),
  );
}

/** A grant is for the session that asked: one that has ended can use none. */
export async function assertLive(desk: Desk, request: Request): Promise<void> {
  const ended = await endedSessions(await desk.ledger(), [request]);
  if (ended.size === 0) return;
  throw new WraptoolError(
    'session_unknown',
    `the session "${request.session}" has ended: a grant is for nobody`,
    { hint: '--apply allows it for later sessions too' },
  );
}
