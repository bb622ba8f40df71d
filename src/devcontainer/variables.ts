/** `${NAME:ARGS}` as the Dev Containers CLI replaces it in every string value. */
import path from 'node:path';
import type { Json } from './jsonc.ts';
import { isObject } from './values.ts';

/** Stands where a value of the host's environment would: nobody knows what it is. */
export const hostMark = '\uE000';

export type Values = {
  readonly workspace: string;
  readonly containerFolder?: string;
  /** The host's variables; absent: the mark and the default stand for each. */
  readonly env?: Readonly<Record<string, string | undefined>>;
};

const shape = /\$\{(.*?)\}/g;

export function substitute(text: string, values: Values): string {
  return text.replace(shape, (whole, body: string) => {
    const [name, ...args] = body.split(':');
    switch (name) {
      case 'env':
      case 'localEnv':
        if (args[0] === undefined) return whole;
        return values.env === undefined ? hostMark + (args[1] ?? '') : (values.env[args[0]] ?? args[1] ?? '');
      case 'localWorkspaceFolder':
        return values.workspace;
      case 'localWorkspaceFolderBasename':
        return path.basename(values.workspace);
      case 'containerWorkspaceFolder':
        return values.containerFolder ?? `/workspaces/${path.basename(values.workspace)}`;
      case 'containerWorkspaceFolderBasename':
        return path.basename(values.containerFolder ?? values.workspace);
      default:
        return whole;
    }
  });
}

/** The same in every string below. */
export function substituteAll(value: Json, values: Values): Json {
  if (typeof value === 'string') return substitute(value, values);
  if (Array.isArray(value)) return value.map((one) => substituteAll(one, values));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, substituteAll(one, values)]));
}

/** Names of the host's variables that a text takes. */
export function hostVariables(text: string): readonly string[] {
  return [...text.matchAll(shape)].flatMap(([, body = '']) => {
    const [name, variable] = body.split(':');
    return (name === 'env' || name === 'localEnv') && variable !== undefined ? [variable] : [];
  });
}

/** True for `${localEnv}` without a name: the CLI refuses the definition. */
export function namesNothing(text: string): boolean {
  return [...text.matchAll(shape)].some(([, body]) => body === 'env' || body === 'localEnv');
}
