/** Names `<server>__<tool>`: exact, and never the same for two tools. */
import { WraptoolError } from '../errors.ts';

const separator = '__';

/** No `__` within and no `_` at the end, so that a registered name can be read in one way only. */
const serverName = /^(?!.*__)[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,46}[A-Za-z0-9.-])?$/;

/** MCP's rule for tool names. */
const toolName = /^[A-Za-z0-9_.-]{1,128}$/;

/** @throws WraptoolError config_invalid */
export function checkServerName(server: string): void {
  if (serverName.test(server)) return;
  throw new WraptoolError('config_invalid', `'${server}' in mcp_servers is no name for a server`, {
    hint: "use at most 48 of A-Z a-z 0-9 . _ -, with a letter or digit first, without '__' and without '_' at the end",
  });
}

export function registeredName(server: string, tool: string): string {
  return `${server}${separator}${tool}`;
}

/** Null for what can't be the name of an upstream tool. */
export function parseName(name: string): { readonly server: string; readonly tool: string } | null {
  const at = name.indexOf(separator);
  return at <= 0 ? null : { server: name.slice(0, at), tool: name.slice(at + separator.length) };
}

/** Why a tool can't be registered; null when it can. */
export function nameProblem(server: string, tool: string): string | null {
  if (!toolName.test(tool)) return 'its name has other characters than A-Z a-z 0-9 . _ -';
  return toolName.test(registeredName(server, tool))
    ? null
    : `'${registeredName(server, tool)}' is over 128 long`;
}
