/** The Docker engine of this machine, in the few words that the devcontainer runtime needs. The one file that knows dockerode. */
import { stat } from 'node:fs/promises';
import type { Duplex, Readable } from 'node:stream';
import type Dockerode from 'dockerode';
import { WraptoolError } from '../../errors.ts';
import { eachLine } from './docker-stream.ts';
import { pullProgress, type PullEvent } from './pull-progress.ts';

export type EngineFault = { readonly statusCode?: number; readonly code?: string; readonly message: string };

export type ContainerView = {
  readonly id: string;
  readonly running: boolean;
  readonly privileged: boolean;
  readonly capAdd: readonly string[];
  readonly capDrop: readonly string[];
  readonly securityOpt: readonly string[];
  readonly autoRemove: boolean;
  readonly network: string;
  readonly user: string;
  readonly env: readonly string[];
  readonly pidMode: string;
  readonly ipcMode: string;
  readonly mounts: readonly { source: string; target: string; writable: boolean; kind: string }[];
};

export type ExecOptions = {
  readonly command: readonly string[];
  /** uid:gid inside. */
  readonly user: string;
  readonly env: readonly string[];
  readonly cwd: string;
  readonly tty: boolean;
};

export type EngineEvent = {
  readonly kind: 'exec' | 'container';
  readonly execId: string;
  readonly exitCode: number | null;
};

export type LabelledImage = {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Null where the image has other names: taking this one away frees nothing. */
  readonly bytes: number | null;
  /** A container, an ended one too, keeps the engine from removing it. */
  readonly used: boolean;
};

/** A command that runs in a container: its bytes, and what became of it. */
export type EngineExec = {
  readonly id: string;
  readonly stream: Duplex;
  resize(size: { rows: number; columns: number }): Promise<void>;
  /** null while it runs. */
  exitCode(): Promise<number | null>;
};

const pingMs = 3000;

export class Engine {
  readonly socketPath: string;
  readonly #docker: Dockerode;

  private constructor(socketPath: string, docker: Dockerode) {
    this.socketPath = socketPath;
    this.#docker = docker;
  }

  /** Loads dockerode only here: it costs more than 100 ms. */
  static async connect(socketPath: string): Promise<Engine> {
    const { default: Client } = await import('dockerode');
    return new Engine(socketPath, new Client({ socketPath }));
  }

  /** Says why the engine does not answer, or null. */
  static async unreachable(socketPath: string): Promise<{ reason: string; hint: string } | null> {
    try {
      if (!(await stat(socketPath)).isSocket())
        return { reason: `"${socketPath}" is not a socket`, hint: 'start dockerd' };
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT')
        return { reason: `there is no Docker socket at "${socketPath}"`, hint: 'install and start Docker' };
      if (code === 'EACCES') return denied(socketPath);
      throw error;
    }
    const engine = await Engine.connect(socketPath);
    try {
      await inTime(engine.#docker.ping(), pingMs);
      return null;
    } catch (error) {
      if ((error as EngineFault).code === 'EACCES') return denied(socketPath);
      return {
        reason: `the Docker engine at "${socketPath}" does not answer: ${(error as Error).message}`,
        hint: 'start dockerd',
      };
    }
  }

  /** Engine version, and whether it maps container users onto others of the host. */
  async facts(): Promise<{ version: string; mapsUsers: string | null; remoteFiles: boolean }> {
    const info = (await this.#docker.info()) as {
      ServerVersion: string;
      SecurityOptions?: string[];
      OperatingSystem?: string;
    };
    const options = info.SecurityOptions ?? [];
    const mapsUsers = options.find((option) => /^name=(rootless|userns)\b/.test(option)) ?? null;
    return {
      version: info.ServerVersion,
      mapsUsers,
      remoteFiles: /docker desktop/i.test(info.OperatingSystem ?? ''),
    };
  }

  /** Image id, or null. */
  async imageId(name: string): Promise<string | null> {
    return orNull(404, async () => (await this.#docker.getImage(name).inspect()).Id);
  }

  /** Null if the registry has it, else what went wrong. */
  async notInRegistry(name: string, timeoutMs: number): Promise<string | null> {
    try {
      await inTime(this.#docker.getImage(name).distribution(), timeoutMs);
      return null;
    } catch (error) {
      return (error as Error).message;
    }
  }

  async pull(name: string, progress: (line: string) => void, signal: AbortSignal): Promise<void> {
    const stream = (await this.#docker.pull(name, { abortSignal: signal })) as Readable;
    await follow(stream, pullProgress(name, progress));
  }

  /** Builds a folder's Dockerfile into an image of that name. */
  async build(
    folder: string,
    options: { tag: string; args: Record<string, string>; labels: Record<string, string> },
    progress: (line: string) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const stream = (await this.#docker.buildImage(
      { context: folder, src: ['Dockerfile'] },
      {
        t: options.tag,
        buildargs: options.args,
        labels: options.labels,
        rm: true,
        forcerm: true,
        abortSignal: signal,
      },
    )) as Readable;
    await follow(stream, (event) => {
      if (event.stream?.trim()) progress(event.stream.trim());
    });
  }

  async container(id: string): Promise<ContainerView | null> {
    return orNull(404, async () => view(await this.#docker.getContainer(id).inspect()));
  }

  /** Containers, ended ones too, that have all these labels. */
  async labelled(labels: readonly string[]): Promise<readonly { id: string; name: string }[]> {
    const found = await this.#docker.listContainers({ all: true, filters: { label: [...labels] } });
    return found.map((entry) => ({ id: entry.Id, name: entry.Names[0]?.slice(1) ?? entry.Id }));
  }

  /** Tagged images that have this label. */
  async images(label: string): Promise<readonly LabelledImage[]> {
    return this.#images({ label: [label] });
  }

  /** Images of this repository, one for each tag. */
  async imagesOf(repository: string): Promise<readonly LabelledImage[]> {
    const found = await this.#images({ reference: [repository] });
    return found.filter(({ name }) => name.startsWith(`${repository}:`));
  }

  async #images(filters: Record<string, string[]>): Promise<readonly LabelledImage[]> {
    const [images, containers] = await Promise.all([
      this.#docker.listImages({ filters }),
      this.#docker.listContainers({ all: true }),
    ]);
    const used = new Set(containers.map((container) => container.ImageID));
    return images.flatMap(({ Id, RepoTags, Labels, Size }) =>
      (RepoTags ?? []).map((name, _index, names) => ({
        name,
        labels: Labels ?? {},
        bytes: names.length > 1 ? null : Size,
        used: used.has(Id),
      })),
    );
  }

  /** Takes a name from an image, and the image with its last one; fine if it is gone or a container is of it. */
  async removeImage(name: string): Promise<boolean> {
    return (await orNull(404, () => orNull(409, () => this.#docker.getImage(name).remove()))) !== null;
  }

  /** Ends and removes a container; fine if it is gone or going. Resolves when it is gone. */
  async remove(id: string): Promise<void> {
    const container = this.#docker.getContainer(id);
    // Both at once: who asks for the end only after the removal may find nothing to wait for.
    const outcomes = await Promise.allSettled([
      orNull(404, () => container.wait({ condition: 'removed' })),
      orNull(404, () => orNull(409, () => container.remove({ force: true, v: true }))),
    ]);
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason as Error;
  }

  /** `created` is told the id before the command starts. */
  async exec(id: string, options: ExecOptions, created: (execId: string) => void): Promise<EngineExec> {
    const exec = await this.#docker.getContainer(id).exec({
      Cmd: [...options.command],
      User: options.user,
      Env: [...options.env],
      WorkingDir: options.cwd,
      Tty: options.tty,
      AttachStdin: true,
      AttachStdout: true,
      AttachStderr: true,
    });
    created(exec.id);
    const stream = await exec.start({ hijack: true, stdin: true, Tty: options.tty });
    return {
      id: exec.id,
      stream,
      resize: ({ rows, columns }) => exec.resize({ h: rows, w: columns }) as Promise<void>,
      exitCode: async () => {
        const { Running, ExitCode } = await exec.inspect();
        return Running ? null : (ExitCode ?? null);
      },
    };
  }

  /**
   * Calls back for each command that ends in the container and for the end of the container itself.
   * Resolves once the engine listens; `lost` is called if it stops telling before the signal asked it to.
   */
  async watch(
    id: string,
    seen: (event: EngineEvent) => void,
    lost: (error: unknown) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const stream = (await this.#docker.getEvents({
      filters: { container: [id], event: ['exec_die', 'die', 'destroy'] },
      abortSignal: signal,
    })) as Readable;
    eachLine(stream, (line) => {
      const event = JSON.parse(line) as { Action: string; Actor: { Attributes: Record<string, string> } };
      const code = event.Actor.Attributes['exitCode'];
      seen({
        kind: event.Action === 'exec_die' ? 'exec' : 'container',
        execId: event.Actor.Attributes['execID'] ?? '',
        exitCode: code === undefined ? null : Number(code),
      });
    }).then(
      () => lost(new Error('the engine closed its event stream')),
      (error: unknown) => lost(error),
    );
  }
}

type BuildEvent = PullEvent & { readonly stream?: string; readonly error?: string };

/** A failed build or pull ends without an error: it is in the last event. */
async function follow(stream: Readable, seen: (event: BuildEvent) => void): Promise<void> {
  let failure: string | undefined;
  await eachLine(stream, (line) => {
    const event = JSON.parse(line) as BuildEvent;
    if (event.error === undefined) seen(event);
    else failure = event.error;
  });
  if (failure !== undefined) throw new WraptoolError('runtime_failed', failure);
}

async function inTime<T>(asked: Promise<T>, ms: number): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no answer in ${ms / 1000} s`)), ms);
  try {
    return await Promise.race([asked, promise]);
  } finally {
    clearTimeout(timer);
  }
}

async function orNull<T>(status: number, ask: () => Promise<T>): Promise<T | null> {
  try {
    return await ask();
  } catch (error) {
    if ((error as EngineFault).statusCode === status) return null;
    throw error;
  }
}

function denied(socketPath: string): { reason: string; hint: string } {
  return {
    reason: `you may not use the Docker socket "${socketPath}"`,
    hint: 'add yourself to the group "docker" and log in again',
  };
}

function view(found: Dockerode.ContainerInspectInfo): ContainerView {
  const host = found.HostConfig;
  return {
    id: found.Id,
    running: found.State.Running,
    privileged: host.Privileged ?? false,
    capAdd: host.CapAdd ?? [],
    capDrop: host.CapDrop ?? [],
    securityOpt: host.SecurityOpt ?? [],
    autoRemove: host.AutoRemove ?? false,
    network: host.NetworkMode ?? '',
    user: found.Config.User,
    env: found.Config.Env,
    pidMode: host.PidMode ?? '',
    ipcMode: host.IpcMode ?? '',
    mounts: found.Mounts.map((mount) => ({
      source: mount.Source,
      target: mount.Destination,
      writable: mount.RW,
      kind: mount.Type,
    })),
  };
}
