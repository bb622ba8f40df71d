import { rm } from 'node:fs/promises';
import type { Command } from 'commander';
import { WraptoolError } from '../../errors.ts';
import type { Serving } from '../../gateway/serve.ts';
import type { SessionFacts } from '../../gateway/session-facts.ts';
import type { Admin } from '../../web/admin.ts';
import { takeOrders } from '../../gateway/supervised.ts';
import type { Control } from '../../up/control/server.ts';
import { callAttention } from '../attention.ts';
import { note, printJson, printLine, warn } from '../voice.ts';
import { escapeHostile } from '../hostile.ts';

type Flags = {
  readonly config?: string;
  readonly name?: string;
  readonly session?: string;
  readonly supervised?: string;
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
    .addOption(program.createOption('--supervised <socket>', 'internal: takes orders on stdin').hideHelp())
    .action(run);
}

async function run(flags: Flags): Promise<void> {
  process.title = 'wraptool';
  // Forked now, while this process is small: each child costs a copy of its address space.
  const { startSpawner } = await import('../../executor/spawner.ts');
  const spawner = startSpawner();
  try {
    const { cause: ending, end } = whatEnds(flags.session !== undefined);
    const { serving, session, log, admin } = await reloadable(start(flags, spawner));
    const control =
      flags.name === undefined || session !== null ? null : await named(flags.name, serving, log);
    const { config } = serving.supervised.status();
    if (flags.supervised !== undefined)
      // Announced first: an order may follow at once.
      takeOrders(process.stdin, serving.supervised, printJson, () => end('replaced'));
    if (flags.json)
      printJson({ event: 'ready', url: serving.url, socket: serving.socket, pid: process.pid, config });
    else printLine(`listening on ${serving.url ?? `unix:${serving.socket ?? ''}`}`);
    const cause = await ending;
    // So that the supervisor knows a signal of somebody else's from an end that it asked for.
    if (flags.supervised !== undefined) printJson({ event: 'ending', cause });
    await control?.close();
    await admin?.close();
    if (cause === orphaned && session !== null) await leave(serving, session);
    else await serving.close(cause, graceMs);
  } finally {
    await spawner.close();
    process.stdin.destroy();
  }
}

/** What has a name can be restarted, by its unit. What was started is ended again where it can't have that name. */
async function named(name: string, serving: Serving, log: string): Promise<Control> {
  const { openServeControl } = await import('../../up/control/serve-control.ts');
  try {
    return await openServeControl({
      name,
      env: process.env,
      log,
      note: (line) => note(escapeHostile(line)),
      fault: (error) => warn(escapeHostile(String(error))),
    });
  } catch (error) {
    await serving.close('its name is taken', 0);
    throw error;
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
): Promise<{ serving: Serving; session: SessionFacts | null; log: string; admin: Admin | null }> {
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
    flags.session === undefined
      ? null
      : await readSessionFacts(env['WRAPTOOL_SESSION_DIR'], flags.session, flags.supervised);
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
    mode: session
      ? { kind: 'session', session, supervised: flags.supervised !== undefined }
      : { kind: 'bare', name: flags.name ?? null },
    token,
    spawner,
    env,
    version: version(),
    voice: { note: (line) => note(escapeHostile(line)), warn: (line) => warn(escapeHostile(line)) },
    attention: ({ id }) => callAttention(process.stderr, id),
    fault,
  });
  const { log } = snapshot.config.requests;
  // A session's page is its supervisor's: it outlives its gateway, and no MCP request reaches that process.
  if (session !== null) return { serving, session, log, admin: null };
  try {
    const { startAdmin } = await import('../admin-page.ts');
    const admin = await startAdmin({ snapshot, configFile, env, session: null, fault });
    if (admin !== null) note('the operator\'s page is on: "wraptool admin open" prints a link');
    return { serving, session, log, admin };
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

/** `cause` resolves with the reason to end, which `end` gives. A session's gateway ends with its supervisor, which holds the other end of stdin. */
function whatEnds(supervised: boolean): { cause: Promise<string>; end: (cause: string) => void } {
  const { promise: cause, resolve: end } = Promise.withResolvers<string>();
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.on(name, () => end(name));
  if (supervised) {
    process.stdin.on('end', () => end(orphaned));
    process.stdin.on('error', () => end(orphaned));
    process.stdin.resume();
  }
  return { cause, end };
}
