/**
 * The real parts that tests need of a machine. A test that lacks one is skipped with the reason, which the summary
 * shows; in CI (`CI=true`) lacking one is a failure.
 *
 *   test('…', needs('docker'), async () => { … });
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { pathWithGuix } from './guix.ts';

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

/** null: it is there. Otherwise the reason why not. */
type Probe = () => string | null;

const root: Probe = () => (process.getuid?.() === 0 ? null : 'needs root');

const probes = {
  root,
  linux: () => (process.platform === 'linux' ? null : 'needs Linux'),
  bubblewrap: () =>
    runs('bwrap', ['--unshare-all', '--unshare-user', '--cap-drop', 'ALL', '--ro-bind', '/', '/', 'true']),
  'network-private': () =>
    root() === null
      ? (runs('slirp4netns', ['--version']) ?? runs('unshare', ['--net', 'true']))
      : runs('pasta', ['--config-net', '--', 'true']),
  /** A real guix, or what the stand-in for it needs; and bubblewrap, which ties both to wraptool. */
  guix: () =>
    runs('guix', ['shell', '--container', '--no-cwd', 'bash', 'tini', '--', 'tini', '--', 'true'], 120_000) ??
    runs('bwrap', ['--version']),
  docker: () => runs('docker', ['info', '--format', '{{.ServerVersion}}'], 20_000),
  tmux: () => runs('tmux', ['-V']),
  chromium: () => runs('chromium', ['--version'], 20_000),
  git: () => runs('git', ['--version']),
  cc: () => runs('cc', ['--version']),
  python3: () => runs('python3', ['--version']),
  bash: () => runs('bash', ['--version']),
  zsh: () => runs('zsh', ['--version']),
  fish: () => runs('fish', ['--version']),
  userns: () => runs('unshare', ['--user', '--map-root-user', 'true']),
  netns: () => runs('unshare', ['--net', 'true']),
  'npm-registry': () =>
    runs('npm', ['view', 'node', 'name', '--fetch-retries=0', '--fetch-timeout=15000'], 30_000),
  /** Another user can run wraptool from here. */
  'other-user': () =>
    root() ??
    runs('setpriv', [
      '--reuid=65534',
      '--regid=65534',
      '--clear-groups',
      process.execPath,
      main,
      '--version',
    ]),
  setpriv: () => root() ?? runs('setpriv', ['--reuid=65534', '--regid=65534', '--clear-groups', 'true']),
} satisfies Record<string, Probe>;

export type Part = keyof typeof probes;

function runs(file: string, args: readonly string[], timeout = 10_000): string | null {
  const env = { ...process.env, PATH: pathWithGuix(process.env['PATH']) };
  const { error, status, signal, stderr } = spawnSync(file, args, {
    encoding: 'utf8',
    timeout,
    cwd: '/',
    env,
  });
  if (error !== undefined)
    return `${file} does not run: ${(error as NodeJS.ErrnoException).code ?? error.message}`;
  if (status === 0) return null;
  return `${[file, ...args].join(' ')} ended with ${signal ?? status}: ${stderr.trim().split('\n')[0] ?? ''}`;
}

const known = new Map<Part, string | null>();

function lacks(part: Part): string | null {
  const before = known.get(part);
  if (before !== undefined) return before;
  const reason = probes[part]();
  known.set(part, reason);
  return reason;
}

/** Options for `test`: `{}` where everything is there, `{skip: reason}` where not. Throws in CI. */
export function needs(...parts: readonly Part[]): { skip?: string } {
  for (const part of parts) {
    const reason = lacks(part);
    if (reason === null) continue;
    if (process.env['CI'] === 'true') throw new Error(`CI lacks ${part}: ${reason}`);
    return { skip: `${part}: ${reason}` };
  }
  return {};
}
