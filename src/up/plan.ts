/** From the operator's words to the exact specification of what will run. No side effects. */
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import type { Config } from '../config/types.ts';
import { WraptoolError } from '../errors.ts';
import type { Injection, Provided } from '../harness/types.ts';
import { stateDir } from '../paths.ts';
import { workspaceKey } from './memory.ts';
import { inside, type ApprovedDefinition, type LaunchSpec } from './runtime/runtime.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** Variables of the operator's terminal that are the harness's business. */
const terminalNames = ['TERM', 'COLORTERM', 'NO_COLOR', 'FORCE_COLOR'];

/** 256 random bits; whoever holds it has every capability of its listener. */
export function newToken(): string {
  return randomBytes(32).toString('base64url');
}

/** Host folder of the harness HOME: one per harness and workspace, or a shared one by name. */
export function homePath(env: Env, harness: string, workspace: string, named: string | undefined): string {
  if (named !== undefined && !/^[a-z0-9][a-z0-9-]{0,31}$/.test(named))
    throw new WraptoolError('usage', `"${named}" cannot be the name of a harness home`, {
      hint: 'use 1 to 32 of a-z, 0-9 and "-"',
    });
  return path.join(stateDir(env), 'homes', harness, named ?? workspaceKey(workspace));
}

/** The variables that `up.harness_env` names and the operator has set. */
export function pickHarnessEnv(config: Config, env: Env): Record<string, string> {
  const picked: Record<string, string> = {};
  for (const name of config.up.harness_env) {
    const value = env[name];
    if (value !== undefined) picked[name] = value;
  }
  return picked;
}

/** Environment of every process in the runtime, before what the harness's descriptor adds. */
export function baseEnv(env: Env, token: string): Record<string, string> {
  const made: Record<string, string> = {
    PATH: `${path.dirname(inside.node)}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`,
    HOME: inside.home,
    LANG: 'C.UTF-8',
    TZ: Intl.DateTimeFormat().resolvedOptions().timeZone,
    WRAPTOOL_URL: `unix:${inside.socket}`,
    WRAPTOOL_TOKEN: token,
  };
  for (const name of terminalNames) {
    const value = env[name];
    if (value !== undefined) made[name] = value;
  }
  return made;
}

export type PlanInput = {
  readonly config: Config;
  readonly env: Env;
  readonly session: LaunchSpec['session'];
  readonly workspace: LaunchSpec['workspace'];
  readonly home: string;
  readonly socketDir: string;
  /** Host folder of the generated client configuration and the folder it is seen at inside. */
  readonly files: { readonly host: string; readonly inside: string };
  readonly relayDir: string;
  readonly provided: Provided | null;
  readonly injection: Injection;
  readonly token: string;
  readonly approved: ApprovedDefinition | null;
};

export function plan(input: PlanInput): LaunchSpec {
  const picked = pickHarnessEnv(input.config, input.env);
  return {
    session: input.session,
    workspace: input.workspace,
    home: input.home,
    socketDir: input.socketDir,
    readOnly: [
      { source: process.execPath, target: inside.node },
      { source: input.relayDir, target: inside.relay },
      { source: input.files.host, target: input.files.inside },
      ...(input.provided?.readOnly ?? []),
    ],
    env: { ...baseEnv(input.env, input.token), ...picked, ...input.injection.env },
    secretEnv: new Set(['WRAPTOOL_TOKEN', ...Object.keys(picked), ...input.injection.secretEnv]),
    command: input.injection.command,
    network: input.config.up.network,
    baseImage: input.config.up.base_image,
    ...(input.approved === null ? {} : { approved: input.approved }),
  };
}
