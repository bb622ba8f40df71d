/** What a definition and a feature ask of the container alike: rights, mounts, variables, commands. */
import type { Json } from './jsonc.ts';
import { judgeMount } from './mount.ts';
import { securityOption } from './run-options.ts';
import { pointer, type Code, type Finding, type Ground, type Severity } from './types.ts';
import { each, isObject, own, shown, strings, type JsonObject, textOf } from './values.ts';
import { hostVariables, namesNothing, substitute } from './variables.ts';

export type Judged = { readonly findings: readonly Finding[] };

export type Scope = {
  readonly ground: Ground;
  /** The CLI writes a compose file with these values in it. */
  readonly compose: boolean;
  readonly feature?: boolean;
};

export const lifecycleCommands = [
  'onCreateCommand',
  'updateContentCommand',
  'postCreateCommand',
  'postStartCommand',
  'postAttachCommand',
] as const;

export async function judgeAsked(given: JsonObject, scope: Scope): Promise<Judged> {
  const findings: Finding[] = [];
  const add = (code: Code, at: string, severity: Severity, why: string, arg?: Json): void => {
    const detail = arg === undefined ? { why } : { arg: shown(arg), why };
    findings.push({ code, json_path: at, severity, detail });
  };
  const privileged = own(given, 'privileged');
  if (privileged) add('privileged', '/privileged', 'host', 'all capabilities and devices', privileged);
  for (const { value, at } of each(own(given, 'capAdd'), '/capAdd'))
    add('cap_add', at, 'host', 'capability', value);
  for (const { value, at } of each(own(given, 'securityOpt'), '/securityOpt')) {
    const verdict = securityOption(typeof value === 'string' ? value : '');
    add('security_opt', at, verdict.severity, verdict.why, value);
  }
  for (const { value, at } of each(own(given, 'mounts'), '/mounts')) {
    const verdict = broken(mountText(value))
      ? lineBreak(scope)
      : await judgeMount(substitute(mountText(value), { workspace: scope.ground.workspace }), scope.ground);
    if (verdict !== null) add(verdict.code, at, verdict.severity, verdict.why, value);
  }
  for (const name of lifecycleCommands)
    if (own(given, name))
      add('lifecycle_command', `/${name}`, 'info', 'runs in the container', own(given, name));
  findings.push(...hostValues(given), ...lineBreaks(given, scope));
  return { findings };
}

/** `--mount` as the CLI writes it: fields of an object are pasted in. */
export function mountText(value: Json): string {
  if (!isObject(value)) return typeof value === 'string' ? value : JSON.stringify(value);
  const source = own(value, 'source');
  const text = (name: string): string => textOf(own(value, name) ?? 'undefined');
  return `type=${text('type')},${source ? `src=${textOf(source)},` : ''}dst=${text('target')}`;
}

/** Variables of the host, in whatever string they stand. */
function hostValues(given: JsonObject): Finding[] {
  const found: Finding[] = [];
  for (const [name, value] of Object.entries(given)) {
    // The CLI drops this one but for two properties, which it takes as they are.
    if (name === '__proto__') continue;
    for (const { text, at } of strings(value, pointer(name))) {
      const names = hostVariables(text);
      const detail = (why: string) => ({ arg: shown(text), why });
      if (names.length > 0)
        found.push({
          code: 'local_env',
          json_path: at,
          severity: 'host',
          detail: detail(`takes the host’s ${names.join(', ')}`),
        });
      else if (namesNothing(text))
        found.push({
          code: 'local_env',
          json_path: at,
          severity: 'info',
          detail: detail('names no variable: the definition is refused'),
        });
    }
  }
  return found;
}

// oxlint-disable-next-line no-control-regex
const control = /[\u0000-\u001f\u007f\u0085\u2028\u2029]/;

function broken(text: string): boolean {
  return control.test(text);
}

function lineBreak({ compose }: Scope) {
  return compose
    ? ({
        code: 'host_namespace',
        severity: 'host',
        why: 'a line break in a value becomes a line of the generated compose file',
      } as const)
    : ({
        code: 'mount_outside_workspace',
        severity: 'host',
        why: 'control characters: nobody can say how it is read',
      } as const);
}

/** Properties that the CLI pastes into a compose file as they are. */
const pasted = ['containerUser', 'service'];
const multiline = new Set<string>([
  ...lifecycleCommands,
  'initializeCommand',
  'customizations',
  'name',
  'description',
]);

/** Control characters where they mean something else than text. */
function lineBreaks(given: JsonObject, scope: Scope): Finding[] {
  const found: Finding[] = [];
  const add = (at: string, reaches: boolean, text: string): void => {
    found.push({
      code: reaches ? 'host_namespace' : 'parse_error',
      json_path: at,
      severity: reaches ? 'host' : 'info',
      detail: {
        arg: shown(text),
        why: reaches
          ? 'a line break in a value becomes a line of the generated compose file'
          : 'control characters in a value',
      },
    });
  };
  for (const [name, value] of Object.entries(given)) {
    // Judged already, or text for people and shells.
    if (['mounts', 'capAdd', 'securityOpt', '__proto__'].includes(name) || multiline.has(name)) continue;
    const isPasted =
      scope.compose && (pasted.includes(name) || (name === 'entrypoint' && scope.feature === true));
    for (const { text, at } of strings(value, pointer(name))) {
      const quotes = isPasted && name !== 'containerUser' && /['"\\]/.test(text);
      if (broken(text) || quotes) add(at, isPasted, text);
    }
    if (name !== 'containerEnv' || !isObject(value)) continue;
    for (const key of Object.keys(value))
      if (broken(key) || (scope.compose && key.includes("'")))
        add(`/containerEnv${pointer(key)}`, scope.compose, key);
  }
  return found;
}
