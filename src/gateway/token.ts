/** The token of a listener. There is none without one. */
import { readFile } from 'node:fs/promises';
import type { Config } from '../config/types.ts';
import { WraptoolError } from '../errors.ts';

/** From `mcp.token_file`, else from the variable that `mcp.token_env` names. Throws WraptoolError config_invalid. */
export async function readToken(
  mcp: Config['mcp'],
  env: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  const source = mcp.token_file === null ? `the variable '${mcp.token_env}'` : `the file '${mcp.token_file}'`;
  const token =
    mcp.token_file === null ? (env[mcp.token_env] ?? '') : (await readTokenFile(mcp.token_file)).trim();
  const hint = `put a random one there, for example from 'openssl rand -hex 32': every client must send it`;
  if (token === '') throw new WraptoolError('config_invalid', `there is no token in ${source}`, { hint });
  // What no Authorization header can carry would lock everybody out.
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new WraptoolError(
      'config_invalid',
      `the token in ${source} has spaces or characters other than ASCII`,
      { hint },
    );
  return token;
}

async function readTokenFile(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new WraptoolError(
      'config_invalid',
      `the token file '${file}' can't be read: ${(cause as Error).message}`,
      {
        hint: "make it readable for you, or take 'mcp.token_env' instead",
        cause,
      },
    );
  }
}
