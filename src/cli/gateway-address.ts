/** Where a client of this host finds the gateway of `wraptool serve`, and its token. */
import { loadConfig } from '../config/load.ts';
import type { Config } from '../config/types.ts';
import { WraptoolError } from '../errors.ts';
import { readToken } from '../gateway/token.ts';
import type { Transport } from '../harness/config-schema.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** Error: usage where nothing says the address, config_invalid. */
export async function gatewayAddress(
  transport: Transport,
  flags: { readonly url?: string; readonly config?: string },
  env: Env,
): Promise<string> {
  if (flags.url !== undefined) return checked(flags.url, transport);
  const mcp = await mcpOf(flags.config, env);
  if (mcp?.socket && transport === 'stdio') return `unix:${mcp.socket}`;
  if (mcp !== null && mcp.listen.port !== 0) {
    const { host, port } = mcp.listen;
    const name = host.includes(':') ? `[${host}]` : host;
    return `http://${name}:${port}${transport === 'sse' ? '/sse' : '/mcp'}`;
  }
  throw new WraptoolError('usage', 'nothing says at which address the gateway is', {
    hint: 'name it with --url, or give `mcp.listen` a port of its own in the config',
  });
}

/** The token for a client that can read no variable. Error: usage where it is not set. */
export async function gatewayToken(name: string, config: string | undefined, env: Env): Promise<string> {
  const mcp = await mcpOf(config, env);
  const variable = mcp?.token_env ?? 'WRAPTOOL_TOKEN';
  if (mcp !== null && mcp.token_file !== null) return readToken(mcp, env);
  const token = env[variable] ?? '';
  if (token !== '') return token;
  throw new WraptoolError(
    'usage',
    `"${name}" can read no variable, so its config needs the token, and ${variable} is not set`,
    {
      hint: `set ${variable} to the token that "wraptool serve" is started with`,
    },
  );
}

/** Null where there is no config: none is needed. */
async function mcpOf(file: string | undefined, env: Env): Promise<Config['mcp'] | null> {
  try {
    return (await loadConfig({ path: file, env, locations: false })).config.mcp;
  } catch (error) {
    if (error instanceof WraptoolError && error.code === 'config_missing' && file === undefined) return null;
    throw error;
  }
}

function checked(text: string, transport: Transport): string {
  const schemes = transport === 'stdio' ? ['http:', 'https:', 'unix:'] : ['http:', 'https:'];
  if (URL.canParse(text) && schemes.includes(new URL(text).protocol)) return text;
  throw new WraptoolError('usage', `"${text}" is no address of a gateway`, {
    hint: `such as http://127.0.0.1:7801/${transport === 'sse' ? 'sse' : 'mcp'}`,
  });
}
