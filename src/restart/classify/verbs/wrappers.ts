/** Programs that run the command that follows their own options. */
import { readOptions, has, valueOf, type Spec } from '../options.ts';
import { ownWords, wrappers, type Wrapper } from './wrapper-table.ts';
import { childShell } from '../machine.ts';
import { isHarmless } from '../signals.ts';
import { programOf, type Call, type Verbs } from './call.ts';
import { killPids } from './kill.ts';

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

/** strace only looks, but where it is told to make system calls end with a signal. */
function strace(call: Call): string {
  const options = readOptions(call.args, wrappers['strace'] ?? {});
  const injected = [...(options.flags.get('e') ?? []), ...(options.flags.get('inject') ?? [])].flatMap(
    (text) => /^(?:inject=)?.*:signal=([^:]+)/.exec(text)?.[1] ?? [],
  );
  if (injected.some((signal) => !isHarmless(signal)))
    killPids(
      { ...call, shell: childShell(call.shell, { indirect: true }) },
      [...(options.flags.get('p') ?? []), ...(options.flags.get('attach') ?? [])].flatMap((pids) =>
        pids.split(/[\s,]+/),
      ),
    );
  return wrap('strace')(call);
}

export const wrapperVerbs: Verbs = {
  ...Object.fromEntries(Object.keys(wrappers).map((name) => [name, wrap(name)])),
  strace,
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
