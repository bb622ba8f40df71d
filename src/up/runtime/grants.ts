/** What an approved definition adds to a session's container: each right by name, nothing by default. Pure. */
import type { Bind } from '../../confine/types.ts';
import { WraptoolError } from '../../errors.ts';
import { own, each, isObject, type JsonObject, textOf } from '../../devcontainer/values.ts';
import type { Json } from '../../devcontainer/jsonc.ts';
import { mountText } from '../../devcontainer/judge-container.ts';
import { readMount } from '../../devcontainer/mount.ts';
import { isOn, readOptions, type Part } from '../../devcontainer/options.ts';
import { judgedWords, networkName, runShape } from '../../devcontainer/run-options.ts';
import { hostVariables, substituteAll, type Values } from '../../devcontainer/variables.ts';

type Env = Readonly<Record<string, string | undefined>>;

export type Grants = {
  /** Arguments of `docker run`; no value of a variable is among them. */
  readonly args: readonly string[];
  readonly privileged: boolean;
  readonly capAdd: readonly string[];
  readonly securityOpt: readonly string[];
  /** Null: the session's own. */
  readonly network: string | null;
  /** False where the namespace that it would be set in is not its own. */
  readonly hostname: boolean;
  readonly ipc: string;
  /** Bind mounts, sources as the engine gets them. */
  readonly binds: readonly Bind[];
  /** Where its mounts are seen. */
  readonly targets: readonly string[];
  /** Variables of every command. `${containerEnv:NAME}` is still in them. */
  readonly env: Readonly<Record<string, string>>;
  /** Names in env that hold a value of the host. */
  readonly secretEnv: readonly string[];
};

/**
 * The session has its own of these, or they end what watches the container. `pid` above all: its guard ends every process
 * that it sees, which must be the container's alone.
 */
const ours = new Set([
  ...[
    'attach',
    'cidfile',
    'detach',
    'detach-keys',
    'entrypoint',
    'help',
    'hostname',
    'init',
    'interactive',
    'label',
  ],
  ...[
    'label-file',
    'name',
    'no-healthcheck',
    'pid',
    'quiet',
    'restart',
    'rm',
    'sig-proxy',
    'tty',
    'user',
    'workdir',
  ],
]);

export type GrantInput = {
  /** The definition, then the manifests of its local features. */
  readonly asked: readonly JsonObject[];
  readonly values: Values & { readonly env: Env };
  /** The approved copy of a file that is named relative to the workspace, or the name itself. */
  copied(file: string): string;
  /** Text of an env file among the approved ones; null: none such. */
  text(file: string): string | null;
};

export function grants(input: GrantInput): Grants {
  const made = new Collector(input);
  for (const [index, one] of input.asked.entries()) made.take(one, index === 0);
  return made.grants();
}

class Collector {
  readonly #input: GrantInput;
  readonly #args: string[] = [];
  readonly #caps = new Set<string>();
  readonly #security = new Set<string>();
  readonly #binds: Bind[] = [];
  readonly #targets = new Set<string>();
  readonly #env: Record<string, string> = {};
  readonly #secret = new Set<string>();
  #privileged = false;
  #network: string | null = null;
  #hostname = true;
  #ipc = '';

  constructor(input: GrantInput) {
    this.#input = input;
  }

  take(given: JsonObject, isDefinition: boolean): void {
    if (own(given, 'privileged')) this.#privileged = true;
    for (const { value } of each(own(given, 'capAdd'), '')) this.#capability(this.#text(value));
    for (const { value } of each(own(given, 'securityOpt'), '')) this.#securityOption(this.#text(value));
    for (const { value } of each(own(given, 'mounts'), '')) this.#mount(this.#text(mountText(value)));
    this.#variables(own(given, 'containerEnv'));
    if (!isDefinition) return;
    this.#variables(own(given, 'remoteEnv'));
    const ports = own(given, 'appPort');
    for (const { value } of each(ports, ''))
      this.#args.push(
        `--publish=${typeof value === 'number' ? `127.0.0.1:${value}:${value}` : this.#text(value)}`,
      );
    const args = own(given, 'runArgs');
    if (Array.isArray(args))
      this.#runArguments(
        args.map((word) => this.#text(word)),
        args,
      );
  }

  grants(): Grants {
    return {
      args: [
        ...(this.#privileged ? ['--privileged'] : []),
        ...[...this.#caps].map((one) => `--cap-add=${one}`),
        ...[...this.#security].map((one) => `--security-opt=${one}`),
        ...this.#args,
      ],
      privileged: this.#privileged,
      capAdd: [...this.#caps],
      securityOpt: [...this.#security],
      network: this.#network,
      hostname: this.#hostname,
      ipc: this.#ipc,
      binds: this.#binds,
      targets: [...this.#targets],
      env: this.#env,
      secretEnv: [...this.#secret],
    };
  }

  #text(value: Json): string {
    return textOf(substituteAll(value, this.#input.values));
  }

  #capability(name: string): void {
    if (name !== '') this.#caps.add(name);
  }

  #securityOption(option: string): void {
    const file = /^seccomp[=:](.+)$/.exec(option)?.[1];
    if (/^no-new-privileges\b/.test(option)) return;
    this.#security.add(
      file === undefined || file === 'unconfined' || file === 'builtin'
        ? option
        : `seccomp=${this.#input.copied(file)}`,
    );
  }

  #mount(text: string): void {
    const read = readMount(text);
    if (typeof read !== 'string') {
      const { type, source = '', target = '' } = read.fields;
      this.#targets.add(target);
      if (type?.toLowerCase() === 'bind') this.#binds.push({ source, target });
    }
    this.#args.push(`--mount=${text}`);
  }

  #variables(given: Json | undefined): void {
    if (!isObject(given)) return;
    for (const [name, value] of Object.entries(given)) {
      if (value === null) continue;
      if (typeof value === 'string' && hostVariables(value).length > 0) this.#secret.add(name);
      this.#env[name] = this.#text(value);
    }
  }

  #runArguments(words: readonly string[], given: readonly Json[]): void {
    const { env: _unknown, ...values } = this.#input.values;
    const judged = readOptions(
      judgedWords(given.map((word) => textOf(substituteAll(word, values)))),
      runShape,
    );
    const parts = readOptions(words, runShape);
    if (shapeOf(parts) !== shapeOf(judged))
      throw new WraptoolError(
        'devcontainer_refused',
        'with the values that the host’s variables have, its run arguments are others than the approved ones',
        { hint: 'let "${localEnv:…}" stand for the value of an option only, after its "="' },
      );
    const raw = given.map(textOf);
    for (const part of parts) {
      if (part.kind !== 'option' || part.value === null || ours.has(part.name)) continue;
      const { name, value } = part;
      if (name === 'privileged') this.#privileged ||= isOn(value);
      else if (name === 'cap-add') this.#capability(value);
      else if (name === 'security-opt') this.#securityOption(value);
      else if (name === 'mount') this.#mount(value);
      else if (name === 'env') this.#variable(value, raw[part.valueIndex] ?? '');
      else if (name === 'env-file') this.#variableFile(value);
      else this.#other(name, value);
    }
  }

  #other(name: string, value: string): void {
    if (name === 'network' || name === 'net') this.#network = networkName(value);
    if ((name === 'uts' && value === 'host') || this.#network?.startsWith('container:'))
      this.#hostname = false;
    if (name === 'ipc') this.#ipc = value;
    if (name === 'volume') {
      const [first = '', second] = value.split(':');
      this.#targets.add(second ?? first);
      if (second !== undefined) this.#binds.push({ source: first, target: second });
    }
    if (name === 'tmpfs') this.#targets.add(value.split(':')[0] ?? '');
    this.#args.push(`--${name}=${value}`);
  }

  /** `NAME=VALUE`, or a bare name: the host's. */
  #variable(text: string, raw: string): void {
    const at = text.indexOf('=');
    const name = at === -1 ? text : text.slice(0, at);
    const value = at === -1 ? this.#input.values.env[name] : text.slice(at + 1);
    if (value === undefined || name === '') return;
    this.#env[name] = value;
    if (at === -1 || hostVariables(raw).length > 0) this.#secret.add(name);
  }

  #variableFile(file: string): void {
    for (const line of (this.#input.text(file) ?? '').split(/\r?\n/)) {
      const pair = line.trimStart();
      if (pair !== '' && !pair.startsWith('#')) this.#variable(pair, '');
    }
  }
}

/** Which options there are, whatever their values. */
function shapeOf(parts: readonly Part[]): string {
  return JSON.stringify(parts.map((part) => ({ ...part, value: null })));
}

/** `${containerEnv:NAME}` in every value, by what the container has. */
export function withContainerEnv(
  env: Readonly<Record<string, string>>,
  container: Env,
): Record<string, string> {
  const made: Record<string, string> = {};
  for (const [name, value] of Object.entries(env))
    made[name] = value.replace(
      /\$\{containerEnv:([^}:]*)(?::([^}]*))?\}/g,
      (_whole, asked: string, fallback?: string) =>
        container[asked] ?? made[asked] ?? env[asked] ?? fallback ?? '',
    );
  return made;
}
