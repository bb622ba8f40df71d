/** Kills by name, pattern or property: pkill, killall, skill; and pgrep, pidof, ps, which only look. */
import { fileOwner, nameWidth, patternWidth, widthReason } from '../gateway.ts';
import { isKnown } from '../holes.ts';
import { has, readOptions, valueOf, type Options } from '../options.ts';
import { isHarmless, isSignal } from '../signals.ts';
import type { ReasonClass } from '../types.ts';
import { killPids, pidReason, withoutTypography } from './kill.ts';
import { programOf, type Call, type Verbs } from './call.ts';

/** undefined: nothing is selected, a usage message. */
type Selected = ReasonClass | null | undefined;

const processSpec = {
  values: 'dPgGstuUFqOr',
  long: [
    'signal',
    'delimiter',
    'pgroup',
    'group',
    'parent',
    'session',
    'terminal',
    'euid',
    'uid',
    'pidfile',
    'cgroup',
    'env',
    'ns',
    'nslist',
    'queue',
    'older',
    'runstates',
  ],
  mixed: true,
} as const;

/** Takes `-KILL`, `-9` and the like out of the arguments. */
function takeSignal(args: readonly string[]): { signal: string | null; rest: readonly string[] } {
  const end = args.indexOf('--');
  const at = args.findIndex(
    (word, index) => /^-[^-]/.test(word) && isSignal(word.slice(1)) && (end < 0 || index < end),
  );
  if (at < 0) return { signal: null, rest: args };
  return { signal: (args[at] ?? '').slice(1), rest: args.toSpliced(at, 1) };
}

/** What pgrep and pkill would select. */
function select(call: Call, options: Options): Selected {
  const { m } = call;
  const file = valueOf(options, 'F', 'pidfile');
  if (file !== undefined) return pidFileReason(call, file);
  const group = valueOf(options, 'g', 'pgroup', 's', 'session', 'P', 'parent', 'ns');
  const pattern = options.rest[0];
  if (group !== undefined) {
    const reasons = group.split(',').map((pid) => pidReason(call, pid === '0' ? '-0' : pid));
    const worst = reasons.find((reason) => reason !== null && reason !== undefined);
    return worst === undefined ? null : worst === 'manual_daemon_kill' ? 'pattern_kill' : worst;
  }
  if (pattern === undefined)
    return [
      'u',
      'euid',
      'U',
      'uid',
      'G',
      'group',
      't',
      'terminal',
      'n',
      'newest',
      'o',
      'oldest',
      'O',
      'older',
      'r',
      'runstates',
      'cgroup',
      'env',
    ].some((name) => options.flags.has(name))
      ? 'fleet_kill'
      : undefined;
  const text = withoutTypography(pattern);
  if (!isKnown(text) && /^.$/su.test(text)) return holeReason(call, text);
  const width = patternWidth(m, text, {
    full: has(options, 'f', 'full'),
    whole: has(options, 'x', 'exact'),
    anyCase: has(options, 'i', 'ignore-case'),
  });
  if (has(options, 'inverse') || (programOf(call.name) === 'pgrep' && has(options, 'v')))
    return width === 'none' ? 'fleet_kill' : null;
  return widthReason(width, 'pattern_kill');
}

function holeReason(call: Call, text: string): ReasonClass | null {
  const [origin] = call.m.holes.in(text);
  if (origin?.of === 'own') return null;
  if (origin?.of === 'targets') return origin.reason;
  if (origin?.of !== 'any') return 'indirect';
  const reasons = origin.texts.map((one) =>
    widthReason(patternWidth(call.m, one, { full: true }), 'pattern_kill'),
  );
  return reasons.find((reason) => reason !== null) ?? null;
}

/** Whose pid stands in a file. */
export function pidFileReason({ m }: Call, file: string): ReasonClass | null {
  const owner = fileOwner(m, file);
  if (owner === 'gateway') return 'manual_daemon_kill';
  return owner === 'other' ? null : 'indirect';
}

function pkill(call: Call): string {
  const { signal, rest } = takeSignal(call.args);
  const options = readOptions(rest, processSpec);
  if (has(options, 'help', 'version', 'V', 'h')) return '';
  const sent = signal ?? valueOf(options, 'signal');
  if (sent !== undefined && sent !== null && isHarmless(sent)) return '';
  const selected = select(call, options);
  if (selected !== undefined) call.m.hit(call.shell, selected);
  return '';
}

function pgrep(call: Call): string {
  const selected = select(call, readOptions(call.args, processSpec));
  return selected === undefined ? '' : call.m.targets(selected);
}

function killall(call: Call): string {
  const { m, shell } = call;
  const { signal, rest } = takeSignal(call.args);
  const options = readOptions(rest, {
    values: 'osuyZn',
    long: ['older-than', 'younger-than', 'signal', 'user', 'context', 'ns'],
    mixed: true,
  });
  const sent = signal ?? valueOf(options, 's', 'signal');
  if (has(options, 'l', 'list', 'V', 'version', 'help') || (sent !== undefined && isHarmless(sent)))
    return '';
  const anyCase = has(options, 'I', 'ignore-case');
  for (const raw of options.rest) {
    const name = withoutTypography(raw);
    if (!isKnown(name) && /^.$/su.test(name)) m.hit(shell, holeReason(call, name));
    else {
      const width = has(options, 'r', 'regexp')
        ? patternWidth(m, name, { full: false, anyCase })
        : nameWidth(name, anyCase);
      m.hit(shell, widthReason(width, 'pattern_kill'));
    }
  }
  if (options.rest.length === 0 && has(options, 'u', 'user')) m.hit(shell, 'fleet_kill');
  return '';
}

/** skill and snice: by pid, command, user or terminal. */
function skill(call: Call): string {
  const { m, shell } = call;
  const { signal, rest } = takeSignal(call.args);
  const options = readOptions(rest, { values: 'cptu', long: ['command', 'pid', 'tty', 'user'], mixed: true });
  if (has(options, 'l', 'L', 'n') || (signal !== null && isHarmless(signal))) return '';
  const pids = options.flags.get('p') ?? options.flags.get('pid') ?? [];
  killPids(call, pids);
  const names = [...(options.flags.get('c') ?? options.flags.get('command') ?? []), ...options.rest];
  for (const name of names) {
    if (/^\d+$/.test(name)) killPids(call, [name]);
    else m.hit(shell, widthReason(nameWidth(name), 'pattern_kill'));
  }
  if (names.length + pids.length === 0 && has(options, 'u', 't', 'user', 'tty')) m.hit(shell, 'fleet_kill');
  return '';
}

function pidof(call: Call): string {
  const { rest } = readOptions(call.args, { values: 'oS', mixed: true });
  const reasons = rest.map((name) => widthReason(nameWidth(name), 'manual_daemon_kill'));
  return call.m.targets(reasons.find((reason) => reason !== null) ?? null);
}

/** Lines or pids about processes; a later filter narrows them. */
function ps(call: Call): string {
  const { m, args } = call;
  const options = readOptions(
    args.filter((word, at) => !/^[a-z]{2,}$/.test(word) || (args[at - 1] ?? '').startsWith('-')),
    {
      values: 'CpqGguUto',
      long: ['pid', 'ppid', 'format', 'sort', 'user', 'User', 'group', 'tty', 'sid'],
      mixed: true,
    },
  );
  const name = valueOf(options, 'C');
  if (name !== undefined) return m.targets(widthReason(nameWidth(name), 'manual_daemon_kill'), 'processes');
  const pids = valueOf(options, 'p', 'pid', 'ppid', 'q', 'sid');
  if (pids === undefined) return m.targets('fleet_kill', 'processes');
  const reasons = pids.split(/[ ,]+/).map((pid) => pidReason(call, pid));
  return m.targets(reasons.find((reason) => reason !== null && reason !== undefined) ?? null, 'processes');
}

/** All processes, in lines or in a tree. */
function tree({ m }: Call): string {
  return m.targets('fleet_kill', 'processes');
}

export const pkillVerbs: Verbs = {
  pkill,
  pgrep,
  killall,
  skill,
  snice: skill,
  pidof,
  ps,
  top: tree,
  pstree: tree,
};
