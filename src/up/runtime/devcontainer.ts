/** A session in a Dev Container: the CLI sets it up from the default definition, the engine's API does the rest. */
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Availability } from '../../confine/types.ts';
import { WraptoolError } from '../../errors.ts';
import { buildApproved, buildingName, planBuild, unusedApproved, type BuildPlan } from './approved-image.ts';
import { environment, grantsOf } from './approved.ts';
import { checkContainer, identityScript } from './container-check.ts';
import { ContainerCommands, type CommandOptions } from './container-commands.ts';
import { postGuard } from './container-guard.ts';
import { devcontainerUp, findCli, upCommand } from './devcontainer-cli.ts';
import { containerName, definition, keeperId, mountsOf, type Definition } from './devcontainer-definition.ts';
import {
  baseUnavailable,
  definitionFolder,
  ensureImage,
  planImage,
  unusedImages,
} from './devcontainer-image.ts';
import { endMakers, removeLabelled } from './devcontainer-leftovers.ts';
import { resolveEndpoint } from './docker-endpoint.ts';
import { Engine } from './docker.ts';
import { workspaceBinds } from './granted-binds.ts';
import { findOnPath, trustedPath } from './find-program.ts';
import type { Grants } from './grants.ts';
import { lifecycleSteps, runLifecycle } from './lifecycle.ts';
import { maskedEnv } from './mask.ts';
import { identity, workspaceMounts, type WorkspaceMounts } from './mounts.ts';
import {
  inside,
  type Description,
  type LaunchSpec,
  type Leftover,
  type Progress,
  type Runtime,
  type Started,
} from './runtime.ts';

type Env = Readonly<Record<string, string | undefined>>;

export class Devcontainer implements Runtime {
  readonly name = 'devcontainer';
  readonly #env: Env;

  constructor(env: Env) {
    this.#env = env;
  }

  async available(options: {
    baseImage: string | null;
    workspace?: string | undefined;
  }): Promise<Availability> {
    if (process.platform !== 'linux')
      return no(`it is for Linux, this is ${process.platform}`, 'use a Linux machine');
    if (findCli() === null)
      return no('the Dev Containers CLI is missing', 'install wraptool with its dependencies: "npm install"');
    const theirs = options.workspace === undefined ? [] : [options.workspace];
    if ((await findOnPath('docker', this.#env['PATH'], theirs)) === null)
      return no('there is no "docker" on PATH', 'install Docker and its client');
    const endpoint = await resolveEndpoint(this.#env, theirs);
    if (!endpoint.ok) return endpoint;
    const unreachable = await Engine.unreachable(endpoint.socketPath);
    if (unreachable !== null) return no(unreachable.reason, unreachable.hint);
    const engine = await Engine.connect(endpoint.socketPath);
    const { version, mapsUsers, remoteFiles } = await engine.facts();
    if (mapsUsers !== null)
      return no(
        `the Docker engine maps users (${mapsUsers}): files would not be yours`,
        'use an engine without that, or bubblewrap',
      );
    if (remoteFiles)
      return no('Docker Desktop runs in a machine of its own', 'use Docker Engine, or bubblewrap');
    const missing = options.baseImage === null ? null : await baseUnavailable(engine, options.baseImage);
    return missing === null
      ? { ok: true, version: `Docker ${version}` }
      : no(missing.message, missing.hint ?? '');
  }

  async describe(spec: LaunchSpec): Promise<Description> {
    const engine = await this.#engine(spec);
    const dockerPath = await this.#client(spec);
    const { build, granted } = await this.#approved(spec, dockerPath);
    const plan = await planImage(engine, build === null ? spec : { ...spec, baseImage: build.image });
    const mounts = mountsOf(spec, await workspaceMounts(spec.workspace, { make: false }));
    const folder = sessionFolder(spec);
    return [
      ...(plan.base.id === null
        ? [build === null ? { what: `pull ${spec.baseImage}` } : described(build)]
        : []),
      ...(plan.exists
        ? []
        : [
            {
              what: `build ${plan.name}`,
              detail: { dockerfile: join(definitionFolder, 'Dockerfile'), args: plan.args },
            },
          ]),
      {
        what: `write ${join(folder, 'devcontainer.json')}`,
        detail: definition(await defaultDefinition(), spec, plan.name, mounts, granted),
      },
      {
        what: 'container',
        argv: upCommand(findCli() ?? 'devcontainer', {
          folder,
          labels: labels(spec),
          dockerPath,
        }),
      },
      ...lifecycleSteps(spec.approved?.given ?? {}, spec.workspace.path).map(({ name, script }) => ({
        what: `${name}, in the container`,
        argv: ['/bin/sh', '-c', ...script],
      })),
      {
        what: `harness in ${containerName(spec.session.name)}, by the engine's API`,
        argv: spec.command,
        detail: { user: owner(spec), cwd: spec.workspace.path, env: shownEnv(spec, granted) },
      },
    ];
  }

  async prepare(spec: LaunchSpec, progress: Progress, signal: AbortSignal): Promise<Started> {
    const engine = await this.#engine(spec);
    const [cli, dockerPath] = [findCli(), await this.#client(spec)];
    if (cli === null) throw new WraptoolError('runtime_unavailable', 'the Dev Containers CLI is missing');
    const { build, granted } = await this.#approved(spec, dockerPath);
    // It and the client look for programs by themselves.
    const env = { ...this.#env, PATH: await trustedPath(this.#env['PATH'], hostile(spec)) };
    const host = { env, folder: sessionFolder(spec), spec };
    if (build !== null && spec.approved !== undefined)
      await buildApproved(engine, spec.approved, build, host, progress, signal);
    const based = build === null ? spec : { ...spec, baseImage: build.image };
    const image = await ensureImage(engine, based, progress, signal);
    const workspace = await workspaceMounts(spec.workspace, { make: true });
    const mounts = mountsOf(spec, workspace);
    const request = {
      sessionId: spec.session.id,
      folder: sessionFolder(spec),
      definition: definition(await defaultDefinition(), spec, image, mounts, granted),
      labels: labels(spec),
      socketPath: engine.socketPath,
      dockerPath,
    };
    await mkdir(request.folder, { recursive: true, mode: 0o700 });
    try {
      const id = await devcontainerUp(cli, request, env, progress, signal);
      await checkContainer(engine, id, spec, mounts, granted);
      return await guarded(engine, id, spec, workspace, { granted, progress, signal });
    } catch (error) {
      await removeLabelled(engine, labels(spec));
      signal.throwIfAborted();
      throw error;
    }
  }

  async reclaim(session: {
    name: string;
    id: string;
    facts: Readonly<Record<string, string | number>>;
  }): Promise<readonly string[]> {
    const known = session.facts['container'] !== undefined;
    const endpoint = await resolveEndpoint(this.#env);
    const unreachable = endpoint.ok ? await Engine.unreachable(endpoint.socketPath) : endpoint;
    if (!endpoint.ok || unreachable !== null) {
      if (!known) return [];
      throw new WraptoolError(
        'runtime_unavailable',
        `the container of "${session.name}" cannot be looked for: ${unreachable?.reason ?? ''}`,
        { hint: unreachable?.hint },
      );
    }
    const makers = await endMakers(session.id);
    // By its id: a session of this name of another state folder may be alive.
    const wanted = [`wraptool.id=${session.id}`, ownLabel()];
    const engine = await Engine.connect(endpoint.socketPath);
    await engine.removeImage(buildingName(session.id));
    return [...makers, ...(await removeLabelled(engine, wanted))];
  }

  async leftovers(all: boolean): Promise<readonly Leftover[]> {
    const endpoint = await resolveEndpoint(this.#env);
    if (!endpoint.ok || (await Engine.unreachable(endpoint.socketPath)) !== null) return [];
    const engine = await Engine.connect(endpoint.socketPath);
    const approved = await unusedApproved(engine, this.#env, all);
    const going = new Set(approved.map(({ name }) => name));
    // Those that stand on others first.
    return [...(await unusedImages(engine, all, going)), ...approved].map(({ name, bytes }) => ({
      what: `image ${name}`,
      bytes,
      remove: () => engine.removeImage(name),
    }));
  }

  /** How an approved definition's image is built, and what it grants; nothing for the default one. */
  async #approved(
    spec: LaunchSpec,
    dockerPath: string,
  ): Promise<{ build: BuildPlan | null; granted: Grants | undefined }> {
    if (spec.approved === undefined) return { build: null, granted: undefined };
    const host = {
      env: this.#env,
      folder: sessionFolder(spec),
      cli: findCli() ?? 'devcontainer',
      dockerPath,
      id: spec.session.id,
    };
    return { build: planBuild(spec.approved, host), granted: grantsOf(spec.approved, spec, this.#env) };
  }

  /** Absolute path of the engine's client. Error: runtime_unavailable. */
  async #client(spec: LaunchSpec): Promise<string> {
    const found = await findOnPath('docker', this.#env['PATH'], hostile(spec));
    if (found !== null) return found;
    throw new WraptoolError('runtime_unavailable', 'there is no "docker" on PATH outside of the workspace', {
      hint: 'install Docker and its client',
    });
  }

  async #engine(spec: LaunchSpec): Promise<Engine> {
    const endpoint = await resolveEndpoint(this.#env, hostile(spec));
    if (!endpoint.ok)
      throw new WraptoolError('runtime_unavailable', endpoint.reason, { hint: endpoint.hint });
    return Engine.connect(endpoint.socketPath);
  }
}

/** The container with its guard posted and its mounts proven; only then may anything of the harness run. */
async function guarded(
  engine: Engine,
  id: string,
  spec: LaunchSpec,
  workspace: WorkspaceMounts,
  own: { granted: Grants | undefined; progress: Progress; signal: AbortSignal },
): Promise<Started> {
  const commands = await ContainerCommands.watch(engine, id);
  const stop = async (): Promise<void> => {
    commands.expectEnd();
    await engine.remove(id);
    commands.close();
  };
  try {
    const options = await furnished(engine, id, commands, { spec, workspace, ...own, stop });
    return {
      facts: { container: id },
      ownTerminals: true,
      run: (stdio) => commands.start(spec.command, stdio, options),
      exec: (command, stdio, given) =>
        commands.start(command, stdio, {
          ...options,
          env: given?.env ?? options.env,
          cwd: given?.cwd ?? options.cwd,
          terminal: given?.terminal,
        }),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Guard, mounts and lifecycle commands in place; how every command of the session runs. */
async function furnished(
  engine: Engine,
  id: string,
  commands: ContainerCommands,
  given: {
    spec: LaunchSpec;
    workspace: WorkspaceMounts;
    granted: Grants | undefined;
    progress: Progress;
    signal: AbortSignal;
    stop(): Promise<void>;
  },
): Promise<CommandOptions> {
  const { spec, workspace, granted, progress, signal } = given;
  const keeper = keeperId(spec.workspace.uid);
  const env =
    granted === undefined ? spec.env : environment(spec, granted, (await engine.container(id))?.env ?? []);
  const options: CommandOptions = { user: owner(spec), env, cwd: spec.workspace.path };
  // At once: each costs what a start of a command in a container does.
  await Promise.all([
    postGuard(commands, { harness: owner(spec), keeper: `${keeper}:${keeper}` }, (why) =>
      unguarded(engine, id, commands, why),
    ),
    proveMounts(commands, spec, { workspace, granted }, options),
  ]);
  signal.throwIfAborted();
  if (spec.workspace.given !== spec.workspace.path) await linkSpelling(commands, spec);
  const steps = lifecycleSteps(spec.approved?.given ?? {}, spec.workspace.path);
  // Whoever is asked to end ends the container, and with it what runs there.
  const abort = (): void => void given.stop().catch((error: unknown) => progress(String(error)));
  signal.addEventListener('abort', abort, { once: true });
  try {
    await runLifecycle(commands, steps, { ...options, env: withoutSecrets(spec, env) }, progress);
  } finally {
    signal.removeEventListener('abort', abort);
  }
  return options;
}

/** An unguarded container does not go on. */
function unguarded(engine: Engine, id: string, commands: ContainerCommands, cause: unknown): void {
  const ended = (why: string, error: unknown): void =>
    commands.fail(new WraptoolError('runtime_failed', why, { cause: error }));
  if (cause !== undefined) return ended('the container ended', cause);
  ended('something else ended the container, or its guard', undefined);
  engine.remove(id).catch((error: unknown) => ended('the container ended', error));
}

async function proveMounts(
  commands: ContainerCommands,
  spec: LaunchSpec,
  { workspace, granted }: { workspace: WorkspaceMounts; granted: Grants | undefined },
  options: CommandOptions,
): Promise<void> {
  const home = { ...(await identity(spec.home)), path: inside.home };
  const binds = await workspaceBinds(granted?.binds ?? [], spec.workspace.path);
  const folders = [...workspace.identities, home, ...binds];
  await commands.run('the check of the mounts', identityScript(folders), { ...options, env: {} });
}

/** The workspace under the name that the operator knows it by. */
async function linkSpelling(commands: ContainerCommands, spec: LaunchSpec): Promise<void> {
  const script = '[ -e "$1" ] || { mkdir -p -- "${1%/*}/" && ln -s -- "$2" "$1"; }';
  await commands.run('the link to the workspace', [script, 'sh', spec.workspace.given, spec.workspace.path], {
    user: '0:0',
    env: {},
    cwd: '/',
  });
}

function described({ image, definition: given, command }: BuildPlan): Description[number] {
  return { what: `build ${image} from the approved copy`, argv: command, detail: given };
}

/** The session's variables and those of an approved definition, values of secrets and of the host masked. */
function shownEnv(spec: LaunchSpec, granted: Grants | undefined): Readonly<Record<string, string>> {
  return maskedEnv({
    env: { ...granted?.env, ...spec.env },
    secretEnv: new Set([...spec.secretEnv, ...(granted?.secretEnv ?? [])]),
  });
}

function withoutSecrets(spec: LaunchSpec, env: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !spec.secretEnv.has(name)));
}

function labels(spec: LaunchSpec): readonly string[] {
  return [`wraptool.session=${spec.session.name}`, `wraptool.id=${spec.session.id}`, ownLabel()];
}

/** Two users of one engine may each have a session of one name. */
function ownLabel(): string {
  return `wraptool.uid=${process.getuid?.() ?? 0}`;
}

function owner(spec: LaunchSpec): string {
  return `${spec.workspace.uid}:${spec.workspace.gid}`;
}

function sessionFolder(spec: LaunchSpec): string {
  return join(spec.session.dir, 'devcontainer');
}

async function defaultDefinition(): Promise<Definition> {
  const text = await readFile(join(definitionFolder, 'devcontainer.json'), 'utf8');
  return JSON.parse(text.replace(/^\s*\/\/.*$/gm, '')) as Definition;
}

/** What of the host an agent may write: no program and no setting is taken from there. */
function hostile(spec: LaunchSpec): readonly string[] {
  return [spec.workspace.path, spec.home];
}

function no(reason: string, hint: string): Availability {
  return { ok: false, reason, hint };
}
