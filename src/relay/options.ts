/** What the relay is told by its command line and environment. */

export type Target =
  | { readonly socketPath: string; readonly path: string }
  | { readonly host: string; readonly port: number; readonly path: string };

export type Options = {
  readonly target: Target;
  readonly token: string;
  /** How long a message waits for a gateway that is away. */
  readonly waitMs: number;
  /** Port of the loopback HTTP mode; null is stdio. */
  readonly http: number | null;
};

const defaultSocket = '/run/wraptool/gateway.sock';

/** Reads `[--http PORT] [TARGET]`; throws Error with a sentence for the client's log. */
export function readOptions(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  cwd: string,
): Options {
  const words = [...argv];
  let http: number | null = null;
  if (words[0] === '--http') {
    http = Number(words[1]);
    if (!Number.isInteger(http) || http < 0 || http > 65_535)
      throw new Error('--http takes a port, 0 for a free one');
    words.splice(0, 2);
  }
  if (words.length > 1)
    throw new Error(`unexpected argument '${words[1] ?? ''}': usage is [--http PORT] [SOCKET or URL]`);
  const token = env['WRAPTOOL_TOKEN'] ?? '';
  if (token === '')
    throw new Error('WRAPTOOL_TOKEN is not in the environment of the relay: pass it on in the MCP entry');
  const waitMs = Number(env['WRAPTOOL_RELAY_WAIT_MS'] ?? 60_000);
  if (!(waitMs >= 0)) throw new Error('WRAPTOOL_RELAY_WAIT_MS must be a number of milliseconds');
  return {
    target: readTarget(words[0] ?? env['WRAPTOOL_URL'] ?? defaultSocket, env['WRAPTOOL_CWD'] ?? cwd),
    token,
    waitMs,
    http,
  };
}

function readTarget(text: string, cwd: string): Target {
  const query = `?cwd=${encodeURIComponent(cwd)}`;
  if (!text.startsWith('http:')) return { socketPath: text.replace(/^unix:/, ''), path: `/mcp${query}` };
  const url = new URL(text);
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port || 80),
    path: url.pathname + (url.search || query),
  };
}
