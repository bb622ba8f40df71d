/** A parsed definition to its findings: what the Dev Containers CLI would do with it, not what the schema allows. */
import path from 'node:path';
import { judgeBuildOptions, judgeCache } from './build-options.ts';
import { fetched } from './fetched.ts';
import { judgeFeatures, type Local } from './features.ts';
import { judgeGitRoot } from './git-root.ts';
import { judgeAsked, lifecycleCommands } from './judge-container.ts';
import type { Json } from './jsonc.ts';
import { judgeMount } from './mount.ts';
import { judgeRunArguments, type ArgumentVerdict } from './run-options.ts';
import { pointer, type Code, type Finding, type Ground, type Severity, type Where } from './types.ts';
import { each, isObject, own, shown, type JsonObject, textOf } from './values.ts';
import { hostMark, substitute, substituteAll } from './variables.ts';

/** What the container is made from; the CLI takes the first that is there. */
export type Origin = 'dockerFile' | 'build' | 'image' | 'compose' | 'none';

export type Judgement = {
  readonly findings: readonly Finding[];
  readonly origin: Origin;
  readonly features: readonly Local[];
};

const known = new Set<string>([
  ...lifecycleCommands,
  ...[
    '$schema',
    'name',
    'image',
    'build',
    'dockerFile',
    'context',
    'dockerComposeFile',
    'service',
    'runServices',
  ],
  ...[
    'features',
    'overrideFeatureInstallOrder',
    'secrets',
    'forwardPorts',
    'portsAttributes',
    'otherPortsAttributes',
  ],
  ...[
    'updateRemoteUserUID',
    'containerEnv',
    'containerUser',
    'mounts',
    'init',
    'privileged',
    'capAdd',
    'securityOpt',
  ],
  ...[
    'remoteEnv',
    'remoteUser',
    'initializeCommand',
    'waitFor',
    'userEnvProbe',
    'hostRequirements',
    'customizations',
  ],
  ...[
    'appPort',
    'runArgs',
    'shutdownAction',
    'overrideCommand',
    'workspaceFolder',
    'workspaceMount',
    'extends',
  ],
  ...['extensions', 'settings', 'devPort'],
]);

/** `file`: path of the definition, absolute as spelled. */
export async function judge(given: JsonObject, file: string, ground: Ground): Promise<Judgement> {
  const origin = originOf(given);
  const work = new Definition(given, path.dirname(file), ground, origin);
  work.properties();
  work.initialize();
  await work.container();
  await work.arguments();
  work.ports();
  await work.workspace();
  if (origin === 'compose') await work.compose();
  else await work.build();
  const features = await judgeFeatures(own(given, 'features'), {
    folder: path.dirname(file),
    ground,
    compose: origin === 'compose',
  });
  return { findings: [...work.findings, ...features.findings], origin, features: features.local };
}

export function originOf(given: JsonObject): Origin {
  if (Object.hasOwn(given, 'dockerFile')) return 'dockerFile';
  const build = own(given, 'build');
  if (isObject(build) && Object.hasOwn(build, 'dockerfile')) return 'build';
  if (Object.hasOwn(given, 'image')) return 'image';
  return Object.hasOwn(given, 'dockerComposeFile') ? 'compose' : 'none';
}

class Definition {
  readonly findings: Finding[] = [];
  readonly #given: JsonObject;
  readonly #folder: string;
  readonly #ground: Ground;
  readonly #origin: Origin;

  constructor(given: JsonObject, folder: string, ground: Ground, origin: Origin) {
    this.#given = given;
    this.#folder = folder;
    this.#ground = ground;
    this.#origin = origin;
  }

  #add(code: Code, at: string, severity: Severity, why: string, arg?: Json): void {
    const detail = arg === undefined ? { why } : { arg: shown(arg), why };
    this.findings.push({ code, json_path: at, severity, detail });
  }

  #text(value: string): string {
    return substitute(value, { workspace: this.#ground.workspace });
  }

  /** The word that the CLI gives the engine's client. */
  #word(value: Json): string {
    return textOf(substituteAll(value, { workspace: this.#ground.workspace }));
  }

  properties(): void {
    for (const name of Object.keys(this.#given)) {
      if (name === '__proto__')
        this.#add(
          'unknown_property',
          pointer(name),
          'info',
          'dropped, but for the workspace mount that it holds',
        );
      else if (name === 'extends')
        this.#add(
          'extends',
          '/extends',
          'info',
          'the Dev Containers CLI does not read it',
          this.#given[name],
        );
      else if (!known.has(name)) this.#add('unknown_property', pointer(name), 'info', 'nobody reads it');
    }
    if (Object.hasOwn(this.#given, 'userEnvProbe'))
      this.#add(
        'user_env_probe',
        '/userEnvProbe',
        'info',
        'starts a shell in the container',
        this.#given['userEnvProbe'],
      );
    if (Object.hasOwn(this.#given, 'overrideCommand'))
      this.#add('override_command', '/overrideCommand', 'info', 'which program the container starts with');
    const gpu = isObject(this.#given['hostRequirements'])
      ? own(this.#given['hostRequirements'], 'gpu')
      : undefined;
    if (gpu)
      this.findings.push({
        code: 'run_args',
        json_path: '/hostRequirements/gpu',
        severity: 'host',
        detail: { arg: '--gpus all', why: 'devices of the host, where the engine has them' },
      });
  }

  initialize(): void {
    const command = own(this.#given, 'initializeCommand');
    if (!command) return;
    const parts = isObject(command) ? Object.values(command) : [command];
    if (parts.some(runs))
      this.#add('initialize_command', '/initializeCommand', 'host', 'runs on the host', command);
    else this.#add('initialize_command', '/initializeCommand', 'info', 'empty: runs nothing', command);
  }

  async container(): Promise<void> {
    const asked = await judgeAsked(this.#given, {
      ground: this.#ground,
      compose: this.#origin === 'compose',
    });
    this.findings.push(...asked.findings);
  }

  async arguments(): Promise<void> {
    const value = own(this.#given, 'runArgs');
    if (!value) return;
    if (!Array.isArray(value))
      return this.#add('run_args', '/runArgs', 'info', 'not an array: the engine refuses it', value);
    const raw = value.map(textOf);
    const verdicts = await judgeRunArguments(
      raw,
      value.map((word) => this.#word(word)),
      this.#ground,
    );
    this.#arguments('/runArgs', verdicts, this.#origin === 'compose');
  }

  /** `unused`: the CLI does not take them for this kind of definition. */
  #arguments(at: string, verdicts: readonly ArgumentVerdict[], unused: boolean): void {
    for (const { code, severity, why, index, arg } of verdicts)
      this.findings.push({
        code,
        json_path: `${at}/${index}`,
        severity: unused ? 'info' : severity,
        detail: { arg, why: unused ? 'not taken for this kind of definition' : why },
      });
  }

  ports(): void {
    const ports = own(this.#given, 'appPort');
    const severity = this.#origin === 'compose' ? 'info' : 'host';
    if (typeof ports === 'number' || typeof ports === 'string')
      this.#add('published_port', '/appPort', severity, 'listens on the host', ports);
    else
      for (const { value, at } of each(ports, '/appPort'))
        this.#add('published_port', at, severity, 'listens on the host', value);
    const forwarded = own(this.#given, 'forwardPorts');
    if (Array.isArray(forwarded) && forwarded.length > 0)
      this.#add(
        'published_port',
        '/forwardPorts',
        'info',
        'an editor’s business; nothing listens by this',
        forwarded,
      );
  }

  async workspace(): Promise<void> {
    const proto = own(this.#given, '__proto__');
    const inherited = isObject(proto) ? own(proto, 'workspaceMount') : undefined;
    const direct = Object.hasOwn(this.#given, 'workspaceMount');
    const mount = direct ? this.#given['workspaceMount'] : inherited;
    if (mount !== undefined)
      await this.#workspaceMount(mount, direct ? '/workspaceMount' : '/__proto__/workspaceMount');
    const folder =
      own(this.#given, 'workspaceFolder') ?? (isObject(proto) ? own(proto, 'workspaceFolder') : undefined);
    if ((mount !== undefined && folder !== undefined) || this.#origin === 'compose') return;
    const root = await judgeGitRoot(this.#ground);
    if (root !== null) this.findings.push(root);
  }

  async #workspaceMount(mount: Json, at: string): Promise<void> {
    if (!mount) return this.#add('workspace_mount', at, 'info', 'the workspace is not mounted', mount);
    if (this.#origin === 'compose')
      return this.#add('workspace_mount', at, 'info', 'not taken for this kind of definition', mount);
    // oxlint-disable-next-line no-control-regex
    const odd = /[\u0000-\u001f\u007f]/.test(textOf(mount));
    const verdict = await judgeMount(this.#word(mount), this.#ground);
    if (!odd && (verdict === null || verdict.severity === 'info'))
      return this.#add('workspace_mount', at, 'info', 'where the workspace is seen', mount);
    this.#add(
      'workspace_mount',
      at,
      'host',
      verdict?.why ?? 'control characters: nobody can say how it is read',
      mount,
    );
    if (verdict?.code === 'symlink_outside') this.#add('symlink_outside', at, 'host', verdict.why, mount);
  }

  async compose(): Promise<void> {
    const files = own(this.#given, 'dockerComposeFile') ?? null;
    this.#add('image_metadata', '/dockerComposeFile', 'info', metadata);
    const named =
      Array.isArray(files) && files.length > 0
        ? each(files, '/dockerComposeFile')
        : [{ value: files, at: '/dockerComposeFile' }];
    for (const { value, at } of named) {
      this.#add(
        'compose_file',
        at,
        'host',
        'a compose file can ask for anything, and takes variables of the host',
        value,
      );
      if (typeof value === 'string' && (await this.#leads(value)) === 'link')
        this.#add('symlink_outside', at, 'host', 'a link leads out of the workspace', value);
    }
  }

  async build(): Promise<void> {
    if (Object.hasOwn(this.#given, 'dockerComposeFile'))
      this.#add(
        'compose_file',
        '/dockerComposeFile',
        'info',
        'not taken: there is an image or a Dockerfile beside it',
      );
    if (this.#origin === 'image')
      this.#add('image_metadata', '/image', 'info', metadata, this.#given['image']);
    if (this.#origin === 'dockerFile') await this.#dockerfile('/dockerFile', '/context', this.#given);
    const build = own(this.#given, 'build');
    if (!isObject(build)) return;
    if (this.#origin === 'build') await this.#dockerfile('/build/dockerfile', '/build/context', build);
    await this.#buildOptions(build, this.#origin === 'image' || this.#origin === 'none');
  }

  async #dockerfile(at: string, contextAt: string, holder: JsonObject): Promise<void> {
    this.#add('image_metadata', at, 'info', metadata);
    const names = { file: at === '/dockerFile' ? 'dockerFile' : 'dockerfile', context: 'context' };
    for (const [value, place, code, what] of [
      [own(holder, names.file), at, 'dockerfile_outside', 'the Dockerfile'],
      [own(holder, names.context), contextAt, 'build_context_outside', 'the build context'],
    ] as const) {
      if (typeof value !== 'string' || (code === 'build_context_outside' && value === '')) continue;
      const where = await this.#leads(value);
      if (where === 'outside') this.#add(code, place, 'host', `${what} is not in the workspace`, value);
      if (where === 'link')
        this.#add('symlink_outside', place, 'host', 'a link leads out of the workspace', value);
      if (where === 'inside' && code === 'dockerfile_outside') await this.#fetches(value);
    }
  }

  async #fetches(dockerfile: string): Promise<void> {
    const full = path.resolve(this.#folder, this.#text(dockerfile));
    const bytes = await this.#ground.read(full);
    for (const { address, near } of fetched(bytes?.toString('utf8') ?? ''))
      this.findings.push({
        code: 'build_options',
        json_path: '',
        severity: near ? 'host' : 'info',
        file: path.relative(this.#ground.workspace, full),
        detail: {
          arg: `ADD ${shown(address)}`,
          why: near ? 'the engine fetches it from the host’s own network' : 'fetched by the engine',
        },
      });
  }

  async #buildOptions(build: JsonObject, unused: boolean): Promise<void> {
    const options = own(build, 'options');
    if (Array.isArray(options)) {
      const raw = options.map(textOf);
      const verdicts = await judgeBuildOptions(
        raw,
        options.map((word) => this.#word(word)),
        this.#ground,
      );
      this.#arguments('/build/options', verdicts, unused);
    } else if (options)
      this.#add('build_options', '/build/options', 'info', 'not an array: the engine refuses it', options);
    for (const { value, at } of each(own(build, 'cacheFrom'), '/build/cacheFrom')) {
      const verdict = await judgeCache(this.#word(value), this.#ground);
      if (verdict === null) continue;
      const detail = { arg: `--cache-from ${shown(value)}`, why: verdict.why };
      this.findings.push({
        code: verdict.code,
        json_path: at,
        severity: unused ? 'info' : verdict.severity,
        detail,
      });
    }
  }

  /** Where a path leads that is relative to the definition's folder. */
  async #leads(value: string): Promise<Where> {
    const text = this.#text(value);
    if (text.includes(hostMark)) return 'outside';
    return this.#ground.where(path.resolve(this.#folder, text));
  }
}

const metadata = 'what the image’s own label asks for is unknown until it is there';

function runs(command: Json): boolean {
  if (typeof command === 'string') return command.trim() !== '';
  return Array.isArray(command) && command.some((word) => typeof word !== 'string' || word.trim() !== '');
}
