/**
 * Pins: the definition under which a tool was first allowed. They are files, one for each tool, so that gateways that
 * run side by side need no lock, and the operator can accept from another process.
 */
import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { WraptoolError } from '../errors.ts';
import { isObject } from './message.ts';
import { createJson, readJson, writeJson } from './store.ts';
import type { ToolDefinition } from './types.ts';

export type Pin = {
  /** Hex, of `toolDigest`. */
  readonly sha256: string;
  /** ISO time. */
  readonly since: string;
  readonly definition: ToolDefinition;
};

export type PinState = 'new' | 'same' | 'changed';

/** All that a client shows to its model or decides by. */
const pinned = ['name', 'title', 'description', 'inputSchema', 'outputSchema', 'annotations'] as const;

export function toolDigest(tool: ToolDefinition): string {
  return createHash('sha256')
    .update(canonicalJson(Object.fromEntries(pinned.map((member) => [member, tool[member]]))))
    .digest('hex');
}

/** JSON with the members of every object in order of their names, and none that is undefined. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? 'null';
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([one], [other]) => (one < other ? -1 : Number(one > other)));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`).join(',')}}`;
}

/**
 * Compares a definition with its pin; a tool without one is pinned now. A changed definition is kept beside the pin,
 * for the operator to look at and accept.
 */
export async function checkPin(stateDir: string, server: string, tool: ToolDefinition): Promise<PinState> {
  const files = filesOf(stateDir, server, tool.name);
  const offered: Pin = { sha256: toolDigest(tool), since: new Date().toISOString(), definition: tool };
  if ((await readPin(files.pin)) === null && (await createJson(files.pin, offered))) return 'new';
  const pin = await readPin(files.pin);
  if (pin?.sha256 === offered.sha256) {
    await rm(files.offered, { force: true });
    return 'same';
  }
  if ((await readPin(files.offered))?.sha256 !== offered.sha256) await writeJson(files.offered, offered);
  return 'changed';
}

/** The pinned definition and the one that is offered in its place; null where there is none. */
export async function readPins(
  stateDir: string,
  server: string,
  tool: string,
): Promise<{ readonly pin: Pin | null; readonly offered: Pin | null }> {
  const files = filesOf(stateDir, server, tool);
  return { pin: await readPin(files.pin), offered: await readPin(files.offered) };
}

/**
 * Makes the offered definition the pinned one. With `sha256`, the digest of what was shown, only if it is still that.
 * @throws WraptoolError usage
 */
export async function acceptPin(
  stateDir: string,
  server: string,
  tool: string,
  sha256?: string,
): Promise<void> {
  const { offered } = await readPins(stateDir, server, tool);
  if (offered === null)
    throw new WraptoolError('usage', `'${tool}' of '${server}' has no changed definition to accept`, {
      hint: 'nothing needs to be done',
    });
  if (sha256 !== undefined && sha256 !== offered.sha256)
    throw new WraptoolError('usage', `'${tool}' of '${server}' changed again since it was shown`, {
      hint: 'look at the new definition first',
    });
  const files = filesOf(stateDir, server, tool);
  await writeJson(files.pin, { ...offered, since: new Date().toISOString() });
  await rm(files.offered, { force: true });
}

function filesOf(
  stateDir: string,
  server: string,
  tool: string,
): { readonly pin: string; readonly offered: string } {
  if (/[/\0]/.test(server + tool) || server.startsWith('.'))
    throw new WraptoolError('usage', `'${tool}' of '${server}' can't be the name of a tool`);
  const base = path.join(stateDir, server, tool);
  return { pin: `${base}.pin.json`, offered: `${base}.offered.json` };
}

async function readPin(file: string): Promise<Pin | null> {
  const value = await readJson(file);
  if (value === null) return null;
  const { sha256, since, definition } = value as Partial<Pin>;
  if (typeof sha256 === 'string' && typeof since === 'string' && isObject(definition))
    return { sha256, since, definition: definition as ToolDefinition };
  throw new WraptoolError('internal', `'${file}' is no pin`, { hint: 'look at it, then remove it' });
}
