/** Programs that run the command that follows their own options. */
import { readOptions, has, valueOf, type Spec } from '../options.ts';
import { childShell } from '../machine.ts';
import { programOf, type Call, type Verbs } from './call.ts';

type Wrapper = Spec & {
  /** Operands in front of the command. */
  readonly skip?: number;
  /** NAME=VALUE may stand in front of the command. */
  readonly assignments?: boolean;
  /** With one of these nothing is run. */
  readonly asks?: readonly string[];
  /** The option whose value is shell text. */
  readonly text?: readonly string[];
  /** The words are joined and given to a shell. */
  readonly joined?: boolean;
  /** With one of these the processes that the command sees are others. */
  readonly inside?: readonly string[];
};

const wrappers: Readonly<Record<string, Wrapper>> = {
  sudo: {
    values: 'ugpChDRrtTU',
    long: [
      'user',
      'group',
      'prompt',
      'close-from',
      'host',
      'chdir',
      'chroot',
      'role',
      'type',
      'command-timeout',
      'other-user',
    ],
    assignments: true,
    asks: ['l', 'list', 'v', 'validate', 'k', 'K', 'e', 'edit', 'V', 'version', 'help'],
  },
  doas: { values: 'uCa', asks: ['C', 'L'] },
  pkexec: { long: ['user'], asks: ['version', 'help'] },
  env: {
    values: 'uCS',
    long: ['unset', 'chdir', 'split-string', 'argv0'],
    assignments: true,
    text: ['S', 'split-string'],
    asks: ['help', 'version'],
  },
  nohup: { asks: ['help', 'version'] },
  timeout: { values: 'ks', long: ['kill-after', 'signal'], skip: 1, asks: ['help', 'version'] },
  gtimeout: { values: 'ks', long: ['kill-after', 'signal'], skip: 1 },
  nice: { values: 'n', long: ['adjustment'] },
  ionice: {
    values: 'cnpPu',
    long: ['class', 'classdata', 'pid', 'pgid', 'uid'],
    asks: ['p', 'pid', 'P', 'u'],
  },
  chrt: {
    values: 'TPD',
    long: ['sched-runtime', 'sched-period', 'sched-deadline'],
    skip: 1,
    asks: ['p', 'pid', 'm', 'max'],
  },
  setsid: {},
  stdbuf: { values: 'ioe', long: ['input', 'output', 'error'] },
  unbuffer: {},
  taskset: { skip: 1, asks: ['p', 'pid'] },
  numactl: {
    values: 'mNCpi',
    long: ['membind', 'cpunodebind', 'physcpubind', 'preferred', 'interleave'],
    asks: ['s', 'H', 'show', 'hardware'],
  },
  time: { values: 'fo', long: ['format', 'output'] },
  gtime: { values: 'fo', long: ['format', 'output'] },
  command: { asks: ['v', 'V'] },
  exec: { values: 'a' },
  noglob: {},
  nocorrect: {},
  busybox: {},
  toybox: {},
  catchsegv: {},
  fakeroot: { values: 'lsibu' },
  faketime: { values: 'f', skip: 1 },
  setarch: { skip: 1 },
  linux32: {},
  linux64: {},
  setpriv: {
    long: [
      'reuid',
      'regid',
      'groups',
      'inh-caps',
      'bounding-set',
      'ambient-caps',
      'securebits',
      'pdeathsig',
      'selinux-label',
      'apparmor-profile',
    ],
    asks: ['dump', 'd'],
  },
  chroot: { long: ['userspec', 'groups'], skip: 1 },
  flock: { values: 'wE', long: ['timeout', 'wait', 'conflict-exit-code'], skip: 1, text: ['c', 'command'] },
  strace: {
    values: 'eopPsuaIbESX',
    long: ['attach', 'trace', 'output', 'user', 'string-limit'],
    asks: ['p', 'attach', 'h', 'V'],
  },
  ltrace: { values: 'eopsuanlFxD', asks: ['p', 'h', 'V'] },
  valgrind: { values: '' },
  'systemd-run': {
    values: 'pHMEu',
    long: [
      'property',
      'unit',
      'description',
      'slice',
      'service-type',
      'uid',
      'gid',
      'nice',
      'working-directory',
      'setenv',
      'host',
      'machine',
      'on-active',
      'on-boot',
      'on-startup',
      'on-unit-active',
      'on-calendar',
      'timer-property',
      'path-property',
      'socket-property',
    ],
  },
  'systemd-inhibit': { long: ['what', 'who', 'why', 'mode'], asks: ['list'] },
  'systemd-cat': { values: 'tp', long: ['identifier', 'priority', 'stderr-priority', 'level-prefix'] },
  cgexec: { values: 'g' },
  'dbus-run-session': { long: ['config-file', 'dbus-daemon'] },
  'dbus-launch': {},
  proxychains: { values: 'f' },
  proxychains4: { values: 'f' },
  torsocks: {},
  torify: {},
  'dumb-init': {},
  tini: { values: 'pe' },
  rlwrap: { values: 'fHpsSb' },
  caffeinate: { values: 'tw' },
  perf: { values: 'eopFgcCt', skip: 1 },
  uv: { skip: 1, values: 'p', long: ['with', 'python', 'env-file', 'directory', 'project'] },
  poetry: { skip: 1 },
  pipenv: { skip: 1 },
  pdm: { skip: 1 },
  hatch: { skip: 1 },
  rye: { skip: 1 },
  bundle: { skip: 1 },
  direnv: { skip: 2 },
  mise: { skip: 1 },
  asdf: { skip: 2 },
  rtx: { skip: 1 },
  conda: { skip: 1, values: 'np', long: ['name', 'prefix'] },
  'cross-env': { assignments: true },
  dotenv: { values: 'efpv' },
  doppler: { skip: 1, text: ['command'] },
  op: { skip: 1, long: ['env-file', 'account'] },
  aws_vault: { skip: 2 },
  'aws-vault': { skip: 2 },
  chronic: {},
  ifne: {},
  ts: {},
  entr: {},
  mosh: { skip: 1, long: ['ssh', 'port', 'predict'] },
  sshpass: { values: 'pfdP' },
  'flatpak-spawn': { long: ['env', 'directory', 'forward-fd'] },
  proot: { values: 'rbqwkip', inside: [] },
  firejail: { inside: [] },
  bwrap: {},
  runuser: { values: 'ugGcs', long: ['user', 'group', 'supp-group', 'command', 'session-command', 'shell'] },
  watch: { values: 'nqs', long: ['interval', 'equexit'], joined: true, asks: ['help', 'version', 'h', 'v'] },
  unshare: {
    values: 'SGRw',
    long: [
      'setuid',
      'setgid',
      'root',
      'wd',
      'propagation',
      'setgroups',
      'kill-child',
      'map-user',
      'map-group',
    ],
    inside: ['p', 'pid'],
  },
  script: {
    values: 'cEIOBTm',
    long: ['command', 'echo', 'log-in', 'log-out', 'log-io', 'log-timing'],
    skip: 1,
    text: ['c', 'command'],
  },
  scriptlive: { values: 'c', text: ['c'] },
  'nix-shell': { values: 'pAI', long: ['run', 'command', 'attr', 'packages'], text: ['run', 'command'] },
  concurrently: { values: 'n', long: ['names'], mixed: true },
};

/** Lines that some wrappers only take after a word of their own. */
const ownWords: Readonly<Record<string, RegExp>> = {
  uv: /^(?:run|tool)$/,
  poetry: /^run$/,
  pipenv: /^run$/,
  pdm: /^run$/,
  hatch: /^run$/,
  rye: /^run$/,
  bundle: /^exec$/,
  direnv: /^exec$/,
  mise: /^(?:exec|x)$/,
  rtx: /^(?:exec|x)$/,
  asdf: /^exec$/,
  conda: /^run$/,
  doppler: /^run$/,
  op: /^run$/,
  perf: /^(?:stat|record|trace)$/,
  'aws-vault': /^exec$/,
};

function wrap(name: string): (call: Call) => string {
  const wrapper = wrappers[name] ?? {};
  return (call) => {
    const { m, shell, input } = call;
    // A first word of its own, then its options.
    const own = ownWords[name];
    const args = own === undefined || !own.test(call.args[0] ?? '') ? call.args : call.args.slice(1);
    if (own !== undefined && args === call.args) return m.holes.unknown;
    const options = readOptions(args, wrapper);
    const scope =
      wrapper.inside?.length === 0 || has(options, ...(wrapper.inside ?? [])) ? 'inside' : shell.scope;
    const inner = { ...shell, scope, external: name !== 'command' && name !== 'exec' && name !== 'time' };
    for (const flag of wrapper.text ?? [])
      for (const text of options.flags.get(flag) ?? [])
        if (text !== '')
          return m.text(
            [text, ...(name === 'env' ? options.rest : [])].join(' '),
            childShell(inner, { external: name === 'env' }),
            input,
          );
    if (has(options, ...(wrapper.asks ?? []))) return m.holes.unknown;
    let rest = options.rest.slice(skipOf(name, wrapper, own !== undefined));
    if (name === 'runuser' && valueOf(options, 'u', 'user') === undefined) return su(call);
    if (wrapper.assignments === true)
      rest = rest.slice(rest.findIndex((word, at) => !/^[A-Za-z_]\w*=/.test(word) || at === rest.length));
    if (rest[0] === '--') rest = rest.slice(1);
    if (name === 'concurrently') return rest.map((text) => m.text(text, childShell(inner), input)).join('');
    if (wrapper.joined === true && !has(options, 'x', 'exec'))
      return m.text(rest.join(' '), childShell(inner), input);
    // `sudo -s`, `flock FILE -c TEXT`
    if (name === 'sudo' && has(options, 's', 'i', 'shell', 'login'))
      return m.text(rest.join(' ') || input.rest, childShell(inner), input);
    if (name === 'flock' && /^(?:-c|--command)$/.test(rest[0] ?? ''))
      return m.text(rest[1] ?? '', childShell(inner), input);
    return rest.length === 0 ? environmentOf(name, m.holes.unknown) : m.exec(rest, inner, input);
  };
}

function environmentOf(name: string, unknown: string): string {
  return name === 'env' ? unknown : '';
}

function skipOf(name: string, { skip = 0 }: Wrapper, own: boolean): number {
  return own ? Math.max(0, skip - 1) : name === 'bwrap' ? 0 : skip;
}

/** su and runuser without -u: the command is shell text, before or after the user. */
function su({ m, shell, args, input }: Call): string {
  const options = readOptions(args, {
    values: 'cgGswT',
    long: ['command', 'session-command', 'group', 'supp-group', 'shell', 'whitelist-environment'],
    mixed: true,
  });
  const text = valueOf(options, 'c', 'command', 'session-command');
  if (text !== undefined) return m.text(text, childShell(shell, { positional: ['sh'] }), input);
  return m.text(input.rest, childShell(shell, { indirect: true }), { rest: '' });
}

/** The command begins at the first word that could be a program; for lines with options of many kinds. */
function bwrap(call: Call): string {
  const { m, shell, args, input } = call;
  const inside = args.some((word) => word === '--unshare-pid' || word === '--unshare-all');
  const end = args.indexOf('--');
  const start =
    end >= 0
      ? end + 1
      : args.findIndex((word) =>
          /^(?:.*\/)?(?:kill|pkill|killall|sh|bash|dash|zsh|env|python3?|node)$/.test(word),
        );
  return start < 0
    ? m.holes.unknown
    : m.exec(args.slice(start), { ...shell, external: true, scope: inside ? 'inside' : shell.scope }, input);
}

/** nsenter: the namespaces of pid 1, or of a gateway, are the host's. */
function nsenter(call: Call): string {
  const { m, shell, args, input } = call;
  const options = readOptions(args, {
    values: 'tSGWN',
    attached: 'muinpCUrwT',
    long: ['target', 'setuid', 'setgid'],
  });
  const target = Number(valueOf(options, 't', 'target') ?? 1);
  const other = target !== 1 && !m.known.pids.has(target) && has(options, 'p', 'pid', 'a', 'all');
  return m.exec(
    options.rest,
    {
      ...shell,
      external: true,
      scope: other ? 'inside' : shell.scope === 'elsewhere' ? 'elsewhere' : 'host',
    },
    input,
  );
}

const remoteSpec: Spec = { values: 'BbcDEeFIiJLlmOopQRSWwP' };

/** ssh: the words are joined and run by the shell of that host. */
function ssh({ m, shell, args, input }: Call): string {
  const first = readOptions(args, remoteSpec);
  const [target = '', ...words] = first.rest;
  // Options may also stand behind the host.
  const { rest, flags } = readOptions(words, remoteSpec);
  for (const option of [...(first.flags.get('o') ?? []), ...(flags.get('o') ?? [])]) {
    const local = /^(?:ProxyCommand|LocalCommand)[= ]([^]+)$/i.exec(option)?.[1];
    if (local !== undefined) m.text(local, childShell(shell), input);
  }
  const host = target
    .replace(/^ssh:\/\//, '')
    .replace(/^.*@/, '')
    .replace(/(?<=\w):\d+$/, '');
  const here =
    /^(?:localhost(?:\.localdomain)?|ip6-localhost|127(?:\.\d{1,3}){1,3}|\[?::1\]?|0\.0\.0\.0)$/i.test(host);
  const inner = childShell(shell, { scope: here ? shell.scope : 'elsewhere' });
  return m.text(rest.length === 0 ? input.rest : rest.join(' '), inner, input);
}

export const wrapperVerbs: Verbs = {
  ...Object.fromEntries(Object.keys(wrappers).map((name) => [name, wrap(name)])),
  builtin: ({ m, shell, args, input }) => m.exec(args, { ...shell, external: false }, input),
  su,
  bwrap,
  nsenter,
  ...Object.fromEntries(['ssh', 'autossh', 'rsh', 'slogin', 'dbclient'].map((name) => [name, ssh])),
  pdsh: (call) => {
    const { rest } = readOptions(call.args, { values: 'wxlutfgR' });
    return call.m.text(rest.join(' '), childShell(call.shell, { scope: 'elsewhere' }), call.input);
  },
  ansible: (call) => {
    const options = readOptions(call.args, {
      values: 'amieuflcMTtBPv',
      long: ['args', 'module-name', 'inventory', 'extra-vars', 'user', 'forks', 'limit'],
      mixed: true,
    });
    const text = valueOf(options, 'a', 'args');
    return text === undefined
      ? ''
      : call.m.text(
          text,
          childShell(call.shell, {
            scope: /^(?:localhost|127\.0\.0\.1)$/.test(options.rest[0] ?? '') ? 'host' : 'elsewhere',
          }),
          call.input,
        );
  },
  vagrant: (call) => {
    const options = readOptions(call.args, { values: 'c', long: ['command'], mixed: true });
    const text = valueOf(options, 'c', 'command');
    return text === undefined
      ? ''
      : call.m.text(text, childShell(call.shell, { scope: 'inside' }), call.input);
  },
};

/** Programs through which a kernel loader or an interpreter line runs another. */
export function isLoader(name: string): boolean {
  return /^ld(?:-linux[\w.-]*|-musl[\w.-]*)?\.so(?:\.\d+)?$/.test(programOf(name));
}
