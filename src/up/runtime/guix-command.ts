/** The one place that builds a `guix shell` command line. Pure but for what it reads of the file system. */
import { existsSync, realpathSync } from 'node:fs';
import { basename, dirname, relative } from 'node:path';
import { checkPaths } from '../../confine/paths.ts';
import { procMasks } from '../../confine/system.ts';
import { tetherPlace, type TetherSpec } from '../../confine/tether.ts';
import type { Bind } from '../../confine/types.ts';
import { WraptoolError } from '../../errors.ts';
import { packagePlace } from '../../places.ts';
import { guixSettings, homeOf } from './guix-env.ts';
import { holderCommand, holderFolder, holderInside } from './held.ts';
import type { WorkspaceMounts } from './mounts.ts';
import { inside, type LaunchSpec } from './runtime.ts';

type Env = Readonly<Record<string, string | undefined>>;

export const manifestFile = packagePlace('templates/manifest.scm');

const resolver = '/etc/resolv.conf';

/** Standard error of the harness where it is the operator's terminal; guix's own is wraptool's to read. */
export const errorsFd = 8;
/** In the environment of guix and of what it has not yet turned into the container. */
export const guixVariable = 'WRAPTOOL_GUIX';

/**
 * guix makes the command PID 1. tini is that here: it reaps, ends with guix, and cannot be stopped from inside. It waits
 * for the end of a pipe that only the holder holds, not for the holder itself: tini takes the terminal away from wraptool's
 * own group for what it starts, and nobody would give it back.
 */
const init = [
  'command -v tini >/dev/null || { echo "tini: command not found" >&2; exit 127; }',
  'trap "" INT QUIT HUP',
  'mkfifo /tmp/.init || exit 125',
  'exec 6<>/tmp/.init 5>/tmp/.init 4</tmp/.init 6<&- 7<&0',
  'rm /tmp/.init',
  '"$@" <&7 4<&- 7<&- &',
  'exec tini -p SIGKILL -- cat <&4 >/dev/null 2>&1 4<&- 5>&- 7<&- 8<&- 9<&-',
].join('\n');

/** With nss-certs in an FHS container; programs of Guix look for certificates only where they are told. */
export const certificateEnv: Readonly<Record<string, string>> = {
  SSL_CERT_DIR: '/etc/ssl/certs',
  SSL_CERT_FILE: '/etc/ssl/certs/ca-certificates.crt',
  CURL_CA_BUNDLE: '/etc/ssl/certs/ca-certificates.crt',
  GIT_SSL_CAINFO: '/etc/ssl/certs/ca-certificates.crt',
};

/** Variables that the container's own first programs keep; the harness's come to it by the holder, secrets too. */
const preserved = ['TERM', 'COLORTERM', 'NO_COLOR', 'FORCE_COLOR', 'LANG', 'TZ'];

export type GuixCommand = {
  readonly tether: TetherSpec;
  readonly argv: readonly string[];
  /** The workspace's other name is to be made inside, where a private folder takes it. */
  readonly linkLater: boolean;
};

/** Errors: workspace_refused. */
export function guixCommand(
  guix: string,
  spec: LaunchSpec,
  workspace: WorkspaceMounts,
  options: { env: Env; terminal: boolean; errors: boolean },
): GuixCommand {
  const owner = { uid: spec.workspace.uid, gid: spec.workspace.gid };
  const foreign = process.getuid?.() === 0 && owner.uid !== 0;
  const uid = foreign ? owner.uid : (process.getuid?.() ?? 0);
  const home = homeOf(uid) ?? tetherPlace;
  const mounts = {
    readOnly: [
      ...spec.readOnly,
      { source: holderFolder, target: holderInside },
      { source: spec.socketDir, target: inside.socketDir },
      ...workspace.readOnly,
    ],
    // HOME first: the other order would hide a workspace that lies below it.
    writable: [{ source: spec.home, target: inside.home }, ...workspace.writable],
    readOnlyOver: workspace.readOnlyOver,
  };
  checkPaths({ ...mounts, links: [], cwd: spec.workspace.path });
  const reach = new Reach(foreign, [spec.home, spec.workspace.path]);
  const manifest = reach.source(manifestFile);
  const words = (option: string, binds: readonly Bind[]): string[] =>
    binds.map(({ source, target }) => mapping(option, reach.source(source), target));
  const link = spelling(spec, [...mounts.readOnly, ...mounts.writable, ...mounts.readOnlyOver], home);
  const environment = environmentOf(options.env, spec, { home, foreign });
  const argv = [
    ...[guix, 'shell', '--container', '--no-cwd', '--emulate-fhs', `--manifest=${manifest}`],
    ...(spec.network === 'none' ? [] : ['--network']),
    ...preserved.filter((name) => name in environment).map((name) => `--preserve=^${name}$`),
    ...(link.mount === null ? [] : [mapping('--expose', link.mount.source, link.mount.target)]),
    ...storeOf(mounts.readOnly),
    ...words('--expose', mounts.readOnly),
    ...words('--share', mounts.writable),
    ...words('--expose', mounts.readOnlyOver),
    // uid 0 inside is the host's, and owns what /proc/sys holds.
    ...(uid === 0 ? procMasks().map(({ source, target }) => mapping('--expose', source, target)) : []),
    ...['--', '/bin/sh', '-c', init, 'init'],
    ...holderCommand(...(options.errors ? [String(errorsFd)] : [])),
  ];
  return {
    argv,
    linkLater: link.later,
    tether: {
      binds: reach.binds,
      // guix mounts it writable, and root inside is its owner.
      readOnly: uid === 0 && existsSync(resolver) ? [realpathSync(resolver)] : [],
      links: link.links,
      folders: link.folders,
      env: environment,
      shown: { WRAPTOOL_SESSION: spec.session.name },
      writable: mounts.writable.map(({ source }) => source),
      terminal: options.terminal,
      ...(foreign ? { user: owner } : {}),
    },
  };
}

/**
 * What guix is told to share. It cannot name a source with "=", and as another user it may not pass through root's
 * folders to it: such a one gets a plain name in the tether's own place.
 */
class Reach {
  readonly binds: Bind[] = [];
  readonly #foreign: boolean;
  readonly #hostile: readonly string[];

  /** `hostile`: folders that something inside may write to. What lies below is only ever reached through them. */
  constructor(foreign: boolean, hostile: readonly string[]) {
    this.#foreign = foreign;
    this.#hostile = hostile;
  }

  source(path: string): string {
    if (!this.#foreign && !path.includes('=')) return path;
    const root = this.#hostile.find((one) => path.startsWith(`${one}/`));
    if (root !== undefined) {
      const below = `${this.source(root)}/${relative(root, path)}`;
      if (!below.includes('=')) return below;
      throw unnameable(path);
    }
    const before = this.binds.find((bind) => bind.source === path);
    if (before !== undefined) return before.target;
    const target = `${tetherPlace}/${this.binds.length}`;
    this.binds.push({ source: path, target });
    return target;
  }
}

/** guix splits at the first "=". */
function mapping(option: string, source: string, target: string): string {
  return source === target ? `${option}=${source}` : `${option}=${source}=${target}`;
}

function unnameable(path: string): WraptoolError {
  return new WraptoolError('workspace_refused', `guix cannot share '${path}': its name has a "="`, {
    hint: 'rename it, or use another --runtime',
  });
}

type Spelling = {
  readonly mount: Bind | null;
  readonly links: readonly Bind[];
  readonly folders: readonly string[];
  readonly later: boolean;
};

/** Places of the container itself, which a folder with the link would hide. */
const taken = /^\/(bin|dev|etc|gnu|lib|lib32|lib64|opt|proc|run|sbin|sys|usr)?(\/|$)/;

/**
 * The workspace under the name that the operator knows it by. The container's root is read-only, so the link comes with
 * a folder that is mounted in the place of its own, unless that is one of the private writable ones.
 */
function spelling(spec: LaunchSpec, mounts: readonly Bind[], home: string): Spelling {
  const { given, path } = spec.workspace;
  const none: Spelling = { mount: null, links: [], folders: [], later: false };
  if (given === path) return none;
  const parent = dirname(given);
  const below = (folder: string): boolean => `${parent}/`.startsWith(`${folder}/`);
  if (['/tmp', home, path, inside.home].some(below)) return { ...none, later: true };
  if (taken.test(parent))
    throw new WraptoolError('workspace_refused', `there can be no link '${given}' in a guix container`, {
      hint: `name the workspace as '${path}'`,
    });
  const place = `${tetherPlace}/link`;
  const targets = mounts.map(({ target }) => target).filter((target) => target.startsWith(`${parent}/`));
  return {
    mount: { source: place, target: parent },
    links: [{ source: path, target: `${place}/${basename(given)}` }],
    // guix cannot make mount points in what is mounted read-only.
    folders: [place, ...targets.map((target) => `${place}/${relative(parent, target)}`)],
    later: false,
  };
}

/** A node of Guix's own needs its libraries; the store is everybody's to read and holds no secret. */
function storeOf(binds: readonly Bind[]): string[] {
  return binds.some(({ source }) => source.startsWith('/gnu/store/')) ? ['--expose=/gnu/store'] : [];
}

function environmentOf(
  env: Env,
  spec: LaunchSpec,
  who: { home: string; foreign: boolean },
): Readonly<Record<string, string>> {
  // Root's settings for guix name root's places.
  const made = { ...guixSettings(who.foreign ? {} : env), [guixVariable]: spec.session.id, HOME: who.home };
  const kept = preserved.filter((name) => spec.env[name] !== undefined && !spec.secretEnv.has(name));
  return { ...made, ...Object.fromEntries(kept.map((name) => [name, spec.env[name]!])) };
}
