import { rm } from 'node:fs/promises';
import type { Command } from 'commander';
import { WraptoolError } from '../../errors.ts';
import type { Serving } from '../../gateway/serve.ts';
import type { SessionFacts } from '../../gateway/session-facts.ts';
import type { Admin } from '../../web/admin.ts';
import { callAttention } from '../attention.ts';
import { note, printJson, printLine, warn } from '../voice.ts';
import { escapeHostile } from '../hostile.ts';

type Flags = {
  readonly config?: string;
  readonly name?: string;
  readonly session?: string;
  readonly json?: boolean;
};

export function register(program: Command): void {
  program
    .command('serve')
    .description('run a gateway alone')
    .option('--config <file>', 'config file')
    .option('--name <name>', 'name of this gateway, for the log and for restarts')
    .option('--json', 'say as JSON when it is ready')
    .helpOption('-h, --help')
    .addOption(program.createOption('--session <name>', 'internal: the gateway of a session').hideHelp())
    .action(run);
}

async function run(flags: Flags): Promise<void> {
  process.title = 'wraptool';
  // Forked now, while this process is small: each child costs a copy of its address space.
  const { startSpawner } = await import('../../executor/spawner.ts');
  const spawner = startSpawner();
  try {
    const ending = whatEnds(flags.session !== undefined);
    const { serving, session, admin } = await reloadable(start(flags, spawner));
    if (flags.json) printJson({ event: 'ready', url: serving.url, socket: serving.socket, pid: process.pid });
    else printLine(`listening on ${serving.url ?? `unix:${serving.socket ?? ''}`}`);
    const cause = await ending;
    await admin?.close();
    if (cause === orphaned && session !== null) await leave(serving, session);
    else await serving.close(cause, graceMs);
  } finally {
    await spawner.close();
    process.stdin.destroy();
  }
}

/** The supervisor is gone, and the harness with it: nobody else is left to tidy up, and nobody to wait for. */
async function leave(serving: Serving, { dir, id }: SessionFacts): Promise<never> {
  const { isTidy } = await import('../../gateway/session-facts.ts');
  if (await isTidy(dir, id)) await rm(dir, { recursive: true, force: true });
  const late = new Promise((resolve) => setTimeout(resolve, graceMs / 4));
  await Promise.race([serving.close(orphaned, 0), late]);
  // What is still open, the helper that starts programs and its children too, ends with this process.
  process.exit(0);
}

async function start(
  flags: Flags,
  spawner: Parameters<typeof import('../../gateway/serve.ts').serve>[0]['spawner'],
): Promise<{ serving: Serving; session: SessionFacts | null; admin: Admin | null }> {
  const [{ configPath, loadConfig }, { serve }, { readSessionFacts }, { readToken }, { version }] =
    await Promise.all([
      import('../../config/load.ts'),
      import('../../gateway/serve.ts'),
      import('../../gateway/session-facts.ts'),
      import('../../gateway/token.ts'),
      import('../version.ts'),
    ]);
  const env = { ...process.env };
  const load = () => loadConfig({ path: flags.config, env });
  const snapshot = await load();
  const session =
    flags.session === undefined ? null : await readSessionFacts(env['WRAPTOOL_SESSION_DIR'], flags.session);
  const token = session ? sessionToken(env) : await readToken(snapshot.config.mcp, env);
  delete process.env['WRAPTOOL_TOKEN'];
  delete process.env[snapshot.config.mcp.token_env];
  const configFile = configPath({ path: flags.config, env });
  const fault = (error: unknown): void =>
    warn(escapeHostile(error instanceof Error ? (error.stack ?? error.message) : String(error)));
  const serving = await serve({
    snapshot,
    load,
    configFile,
    mode: session ? { kind: 'session', session } : { kind: 'bare', name: flags.name ?? null },
    token,
    spawner,
    env,
    version: version(),
    voice: { note: (line) => note(escapeHostile(line)), warn: (line) => warn(escapeHostile(line)) },
    attention: ({ id }) => callAttention(process.stderr, id),
    fault,
  });
  // A session's page is its supervisor's: it outlives its gateway, and no MCP request reaches that process.
  if (session !== null) return { serving, session, admin: null };
  try {
    const { startAdmin } = await import('../admin-page.ts');
    const admin = await startAdmin({ snapshot, configFile, env, session: null, fault });
    if (admin !== null) note('the operator\'s page is on: "wraptool admin open" prints a link');
    return { serving, session, admin };
  } catch (error) {
    await serving.close('the page could not be served', 0);
    throw error;
  }
}

/** SIGHUP reloads, from the first moment on: one that comes early is kept. */
async function reloadable<T extends { readonly serving: Serving }>(starting: Promise<T>): Promise<T> {
  let serving: Serving | null = null;
  let early = false;
  process.on('SIGHUP', () => {
    if (serving === null) early = true;
    else void serving.reload();
  });
  const started = await starting;
  serving = started.serving;
  if (early) void serving.reload();
  return started;
}

function sessionToken(env: Readonly<Record<string, string | undefined>>): string {
  const token = env['WRAPTOOL_TOKEN'] ?? '';
  if (token !== '') return token;
  throw new WraptoolError('gateway_failed', 'WRAPTOOL_TOKEN is not set for the session', {
    hint: "'serve --session' is internal: 'wraptool up' starts it",
  });
}

/** What calls in flight get at an orderly end. */
const graceMs = 1_000;

const orphaned = 'the supervisor is gone';

/** Resolves with the reason to end. A session's gateway ends with its supervisor, which holds the other end of stdin. */
function whatEnds(supervised: boolean): Promise<string> {
  return new Promise((resolve) => {
    for (const name of ['SIGTERM', 'SIGINT'] as const) process.on(name, () => resolve(name));
    if (!supervised) return;
    process.stdin.on('end', () => resolve(orphaned));
    process.stdin.on('error', () => resolve(orphaned));
    process.stdin.resume();
  });
}
