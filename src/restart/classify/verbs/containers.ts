/** Container engines: ending a container, looking for one, running a command inside one. */
import { containerReason } from '../gateway.ts';
import { isKnown } from '../holes.ts';
import { childShell } from '../machine.ts';
import { has, readOptions, valueOf, type Options } from '../options.ts';
import { isHarmless } from '../signals.ts';
import { all, type Call, type Verbs } from './call.ts';

const globals = {
  values: 'cHl',
  long: [
    'context',
    'host',
    'log-level',
    'config',
    'tlscacert',
    'tlscert',
    'tlskey',
    'connection',
    'url',
    'namespace',
    'address',
    'root',
    'runroot',
  ],
};
const runOptions = {
  values: 'aceghlmpuvwe',
  long: [
    'name',
    'env',
    'env-file',
    'volume',
    'workdir',
    'user',
    'publish',
    'network',
    'net',
    'pid',
    'ipc',
    'uts',
    'userns',
    'cgroupns',
    'entrypoint',
    'label',
    'mount',
    'memory',
    'cpus',
    'hostname',
    'add-host',
    'cap-add',
    'cap-drop',
    'device',
    'dns',
    'restart',
    'platform',
    'pull',
    'security-opt',
    'shm-size',
    'stop-signal',
    'stop-timeout',
    'tmpfs',
    'ulimit',
    'runtime',
    'log-driver',
    'log-opt',
    'gpus',
    'annotation',
    'detach-keys',
    'cidfile',
  ],
};

function engine(call: Call): string {
  const { rest } = readOptions(call.args, globals);
  const [group = '', ...words] = rest;
  if (group === 'compose') return compose({ ...call, args: words });
  if (/^(?:container|pod)$/.test(group)) return verb(call, words[0] ?? '', words.slice(1));
  return verb(call, group, words);
}

function verb(call: Call, name: string, args: readonly string[]): string {
  const { m } = call;
  if (args.includes('--help')) return '';
  if (name === 'exec') return runInside(call, args);
  if (/^(?:run|create)$/.test(name)) return runNew(call, args);
  if (/^(?:ps|ls|list)$/.test(name)) return list(call, args);
  if (name === 'inspect')
    return m.targets(
      worst(call, readOptions(args, { values: 'f', long: ['format', 'type'], mixed: true }).rest),
    );
  const options = readOptions(args, {
    values: 'st',
    long: ['signal', 'time', 'timeout', 'cidfile', 'filter', 'pod-id-file'],
    mixed: true,
  });
  if (!ends(name, options)) return '';
  hitContainers(call, options);
  return '';
}

function ends(name: string, options: Options): boolean {
  if (name === 'kill') return !isHarmless(valueOf(options, 's', 'signal') ?? 'KILL');
  if (/^(?:stop|restart|pause|checkpoint)$/.test(name)) return true;
  return /^(?:rm|remove|delete)$/.test(name) && has(options, 'f', 'force');
}

function hitContainers(call: Call, options: Options): void {
  const { m, shell } = call;
  if (has(options, 'a', 'all', 'l', 'latest')) m.hit(shell, 'container_kill');
  for (const filter of options.flags.get('filter') ?? []) m.hit(shell, filtered(call, [filter]));
  for (const name of options.rest) m.hit(shell, containerReason(m, name));
}

function worst(call: Call, names: readonly string[]) {
  return names.map((name) => containerReason(call.m, name)).find((reason) => reason !== null) ?? null;
}

/** `docker ps -q`: names or ids of containers, narrowed by the filters. */
function list(call: Call, args: readonly string[]): string {
  const options = readOptions(args, { values: 'fn', long: ['filter', 'format', 'last'], mixed: true });
  return call.m.targets(
    filtered(call, [...(options.flags.get('f') ?? []), ...(options.flags.get('filter') ?? [])]),
    'processes',
  );
}

/** Sessions' containers pass a filter unless it names something else. */
function filtered({ m }: Call, filters: readonly string[]): 'container_kill' | null {
  const other = filters.some((filter) => {
    const [key = '', ...value] = filter.split('=');
    const wanted = value.join('=');
    if (!isKnown(wanted)) return false;
    if (key === 'name')
      return !m.patterns.compile(wanted)('/wraptool-claude-app') && !/wraptool/i.test(wanted);
    return key === 'label' && !wanted.startsWith('wraptool.') && !wanted.startsWith('devcontainer.');
  });
  return other ? null : 'container_kill';
}

/** Inside a container the processes are its own. */
function runInside(call: Call, args: readonly string[]): string {
  const { rest } = readOptions(args, {
    values: 'ewuc',
    long: ['env', 'workdir', 'user', 'env-file', 'detach-keys', 'container', 'namespace'],
  });
  return inside(call, rest.slice(1));
}

function inside({ m, shell, input }: Call, argv: readonly string[]): string {
  m.exec(
    argv[0] === '--' ? argv.slice(1) : argv,
    childShell(shell, { scope: 'inside', external: true }),
    input,
  );
  return m.holes.unknown;
}

function runNew(call: Call, args: readonly string[]): string {
  const { m, shell, input } = call;
  const options = readOptions(args, runOptions);
  const [, ...argv] = options.rest;
  const entry = valueOf(options, 'entrypoint');
  const line = entry === undefined || entry === '' ? argv : [entry, ...argv];
  // With the engine's socket its containers are the host's.
  const shared =
    valueOf(options, 'pid') === 'host' || args.some((word) => /(?:docker|podman)\.sock/.test(word));
  if (!shared) return inside(call, line);
  m.exec(line, childShell(shell, { external: true }), input);
  return m.holes.unknown;
}

function compose(call: Call): string {
  const { m, shell, input } = call;
  const options = readOptions(call.args, {
    values: 'fp',
    long: ['file', 'project-name', 'profile', 'env-file', 'project-directory', 'ansi', 'parallel'],
  });
  const [name = '', ...args] = options.rest;
  if (/^(?:exec|run)$/.test(name)) {
    const { rest } = readOptions(args, {
      values: 'euwv',
      long: ['env', 'user', 'workdir', 'index', 'volume', 'name', 'entrypoint'],
    });
    m.exec(rest.slice(1), childShell(shell, { scope: 'inside', external: true }), input);
  } else if (
    /^(?:down|stop|kill|restart|pause)$/.test(name) ||
    (name === 'rm' && args.some((word) => /^(?:-[a-z]*s|--stop)/.test(word)))
  ) {
    const project = [...options.flags.values()].flat().concat(args);
    m.hit(shell, project.some((word) => /wraptool/i.test(word)) ? 'container_kill' : null);
  }
  return '';
}

function kubectl(call: Call): string {
  const options = readOptions(call.args, {
    values: 'ncs',
    long: ['namespace', 'context', 'container', 'kubeconfig', 'cluster', 'user'],
    mixed: false,
  });
  const [name = '', ...args] = options.rest;
  if (/^(?:exec|debug)$/.test(name)) {
    const end = args.indexOf('--');
    return inside(call, end < 0 ? runRest(args) : args.slice(end + 1));
  }
  if (name === 'delete' || (name === 'rollout' && args[0] === 'restart') || name === 'drain')
    call.m.hit(call.shell, null);
  return '';
}

function runRest(args: readonly string[]): readonly string[] {
  return readOptions(args, { values: 'nc', long: ['namespace', 'container'] }).rest.slice(1);
}

/** `lxc`, `incus`, `machinectl`, `virsh`, `ctr`, `crictl`: verb, then name. */
function manager(call: Call): string {
  const { m, shell } = call;
  const { rest } = readOptions(call.args, {
    values: 'nsM',
    long: ['signal', 'namespace', 'machine', 'kill-whom'],
    mixed: false,
  });
  const words = /^(?:task|tasks|container|containers|t|c)$/.test(rest[0] ?? '') ? rest.slice(1) : rest;
  const [name = '', ...args] = words;
  if (/^(?:exec|shell)$/.test(name)) {
    const end = args.indexOf('--');
    return inside(call, end < 0 ? args.slice(1) : args.slice(end + 1));
  }
  if (
    /^(?:stop|kill|restart|delete|destroy|terminate|poweroff|reboot|shutdown|pause|stopp|rmp)$/.test(name)
  ) {
    const names = args.filter((word) => !word.startsWith('-'));
    for (const one of names) m.hit(shell, containerReason(m, one));
    if (args.includes('--all') || args.includes('-a')) m.hit(shell, 'container_kill');
  }
  return '';
}

/** A call of the engine's API over its socket. */
export function engineApi({ m, shell, args }: Call): boolean {
  const url = args.find((word) => /\/containers\/[^/]+(?:\/(?:kill|stop|restart|pause))?(?:\?|$)/.test(word));
  const [, name, act] =
    /\/containers\/([^/?]+)(?:\/(kill|stop|restart|pause))?(?:\?|$)/.exec(url ?? '') ?? [];
  if (url === undefined || name === undefined) return false;
  const method =
    args.find((_word, at) => /^(?:-X|--request)$/.test(args[at - 1] ?? '')) ??
    args.find((word) => /^-X./.test(word))?.slice(2);
  const removes = /^delete$/i.test(method ?? '') && /force=(?:1|true)/i.test(url);
  const posts =
    act !== undefined &&
    (/^post$/i.test(method ?? '') || args.some((word) => /^(?:-d|--data|--json|-F)/.test(word)));
  if (!removes && !posts) return false;
  if (/signal=(?:0|SIGCONT|CONT|SIGWINCH|WINCH)(?:&|$)/i.test(url)) return true;
  m.hit(shell, containerReason(m, name));
  return true;
}

export const containerVerbs: Verbs = {
  ...all('docker podman nerdctl finch', engine),
  ...all('docker-compose podman-compose', compose),
  ...all('kubectl oc k3s', kubectl),
  ...all('lxc incus machinectl virsh ctr crictl runc crun', manager),
};
