/** Service managers: what stops, restarts or signals a unit, a job or a program. */
import { unitReason } from '../gateway.ts';
import { has, readOptions, valueOf } from '../options.ts';
import { isHarmless } from '../signals.ts';
import { all, type Call, type Verb, type Verbs } from './call.ts';

const stops =
  /^(?:stop|kill|restart|try-restart|condrestart|condstop|reload-or-restart|try-reload-or-restart|reload-or-try-restart|force-reload|isolate|freeze)$/;
const endsAll =
  /^(?:reboot|poweroff|halt|kexec|soft-reboot|exit|rescue|emergency|default|switch-root|hibernate|hybrid-sleep)$/;
/** Targets that end the machine's work when they are started. */
const ending = /^(?:rescue|emergency|poweroff|reboot|halt|shutdown|kexec|soft-reboot)\.target$/;
const carriers =
  /(?:rescue|emergency|poweroff|reboot|halt|shutdown|multi-user|basic|sysinit|single)\.target$/;

function hitUnits(call: Call, units: readonly string[]): void {
  for (const unit of units) call.m.hit(call.shell, unitReason(call.m, unit));
}

function systemctl(call: Call): string {
  const { m, shell, args } = call;
  const options = readOptions(args, {
    values: 'HMpPtsno',
    long: [
      'signal',
      'kill-whom',
      'kill-who',
      'kill-value',
      'host',
      'machine',
      'property',
      'type',
      'state',
      'output',
      'lines',
      'root',
      'job-mode',
      'what',
      'when',
      'message',
      'image',
    ],
    mixed: true,
  });
  if (has(options, 'help', 'h', 'version', 'dry-run')) return '';
  const [verb = '', ...units] = options.rest;
  if (verb === 'show' || verb === 'status') return pidsOf(call, units);
  if (/^list-(?:units|unit-files|sockets|timers|dependencies)$/.test(verb)) return listed(call, units);
  if (endsAll.test(verb)) m.hit(shell, 'fleet_kill');
  else if (
    verb === 'isolate' ||
    units.some((unit) => (stops.test(verb) && carriers.test(unit)) || (verb === 'start' && ending.test(unit)))
  )
    m.hit(shell, 'fleet_kill');
  else if (verb === 'kill' && isHarmless(valueOf(options, 's', 'signal') ?? 'TERM')) return '';
  else if (stops.test(verb)) hitUnits(call, units);
  else if (/^(?:disable|mask|reenable)$/.test(verb) && has(options, 'now')) hitUnits(call, units);
  return '';
}

/** `show -p MainPID` gives the pid of what runs in the unit. */
function pidsOf({ m }: Call, units: readonly string[]): string {
  const reasons = units.map((unit) => unitReason(m, unit));
  const worst = reasons.find((reason) => reason !== null) ?? null;
  return units.length === 0 ? '' : m.targets(worst === 'service_kill' ? 'manual_daemon_kill' : worst);
}

/** Names of units, one in a line; a later filter narrows them. */
function listed({ m }: Call, units: readonly string[]): string {
  const reasons = units.map((unit) => unitReason(m, unit));
  return m.targets(
    units.length === 0 ? 'service_kill' : (reasons.find((reason) => reason !== null) ?? null),
    'processes',
  );
}

/** Programs of the form `PROGRAM VERB NAME…`. */
function verbFirst(verbs: RegExp, spec: { values?: string; long?: readonly string[] } = {}): Verb {
  return (call) => {
    const { rest } = readOptions(call.args, { ...spec, mixed: true });
    const [verb = '', ...names] = rest;
    if (verbs.test(verb)) hitUnits(call, verb === 'stopall' ? ['all'] : names);
    return '';
  };
}

/** Programs of the form `PROGRAM NAME VERB`. */
function nameFirst(verbs: RegExp): Verb {
  return (call) => {
    const { rest } = readOptions(call.args, { mixed: true });
    const [name = '', verb = ''] = rest;
    if (verbs.test(verb) || call.args.includes('--full-restart')) hitUnits(call, [name]);
    return '';
  };
}

const serviceVerbs_ =
  /^(?:stop|restart|force-reload|try-restart|condrestart|force-stop|force-restart|zap|kill|--full-restart)$/;

const runit: Verb = (call) => {
  const { rest } = readOptions(call.args, { values: 'w', mixed: true });
  const [verb = '', ...names] = rest;
  if (
    /^(?:down|stop|exit|restart|kill|term|hup|int|interrupt|quit|1|2|alarm|pause|shutdown|force-(?:stop|shutdown|restart|reload)|try-restart|[dxktqhip])$/.test(
      verb,
    )
  )
    hitUnits(call, names);
  return '';
};

/** daemontools and s6: `svc -d DIR`, `s6-svc -k DIR`. */
const supervise: Verb = (call) => {
  const options = readOptions(call.args, { values: 'TwW', mixed: true });
  if (has(options, 'd', 'k', 't', 'x', 'r', 'i', 'h', 'q', 'p', '1', '2', 'D')) hitUnits(call, options.rest);
  return '';
};

const launchctl: Verb = (call) => {
  const { args, m, shell } = call;
  const [verb = '', ...rest] = args;
  if (verb === 'reboot') m.hit(shell, 'fleet_kill');
  else if (verb === 'kill') {
    if (!isHarmless(rest[0] ?? '')) hitUnits(call, rest.slice(1));
  } else if (verb === 'kickstart') {
    if (rest.some((word) => /^-[a-z]*k/.test(word)))
      hitUnits(
        call,
        rest.filter((word) => !word.startsWith('-')),
      );
  } else if (/^(?:stop|unload|remove|bootout)$/.test(verb))
    hitUnits(
      call,
      rest.filter((word) => !word.startsWith('-')),
    );
  return '';
};

const supervisorctl: Verb = (call) => {
  const { rest } = readOptions(call.args, {
    values: 'csup',
    long: ['configuration', 'serverurl', 'username', 'password'],
  });
  const [verb = '', ...names] = rest;
  if (/^(?:shutdown|reload)$/.test(verb)) hitUnits(call, ['all']);
  else if (verb === 'signal') {
    if (!isHarmless(names[0] ?? '')) hitUnits(call, names.slice(1));
  } else if (/^(?:stop|restart|remove)$/.test(verb)) hitUnits(call, names);
  return '';
};

const pm2: Verb = (call) => {
  const { rest } = readOptions(call.args, { long: ['signal'], mixed: true });
  const [verb = '', ...names] = rest;
  if (verb === 'kill' || (verb === 'update' && names.length === 0)) hitUnits(call, ['all']);
  else if (verb === 'sendSignal') hitUnits(call, names.slice(1));
  else if (/^(?:stop|restart|delete|del|reload|gracefulReload|scale)$/.test(verb))
    // A number is an id that pm2 gave: it may be any of its programs.
    hitUnits(
      call,
      names.map((name) => (/^\d+$/.test(name) ? 'all' : name)),
    );
  return '';
};

/** systemd or the engine over the bus. */
const bus: Verb = (call) => {
  const { args, m, shell } = call;
  const method = args.findIndex((word) =>
    /(?:^|\.)(?:Stop|Kill|Restart|TryRestart|ReloadOrRestart|ReloadOrTryRestart|Freeze)Unit(?:New|WithFlags)?$/.test(
      word,
    ),
  );
  if (method >= 0) {
    const units = args
      .slice(method + 1)
      .map((word) => word.replace(/^string:/, '').replace(/^["']|["']$/g, ''));
    const worst = units.map((unit) => unitReason(m, unit)).find((reason) => reason !== null);
    m.hit(shell, worst ?? null);
  } else if (
    args.some((word) =>
      /(?:^|\.)(?:Reboot|PowerOff|Halt|KExec|TerminateUser|KillUser|TerminateSession|KillSession)$/.test(
        word,
      ),
    )
  )
    m.hit(shell, 'fleet_kill');
  return '';
};

const startStopDaemon: Verb = (call) => {
  const { m, shell } = call;
  const options = readOptions(call.args, {
    values: 'xnpusRPgcdNrkIa',
    long: [
      'exec',
      'name',
      'pidfile',
      'pid',
      'ppid',
      'user',
      'signal',
      'retry',
      'startas',
      'chuid',
      'group',
      'chdir',
    ],
    mixed: true,
  });
  if (!has(options, 'K', 'stop', 'stop-daemon') || has(options, 't', 'test')) return '';
  if (isHarmless(valueOf(options, 's', 'signal') ?? 'TERM')) return '';
  const named = ['p', 'pidfile', 'n', 'name', 'x', 'exec', 'a', 'startas'].flatMap(
    (name) => options.flags.get(name) ?? [],
  );
  const pids = ['pid', 'ppid'].flatMap((name) => options.flags.get(name) ?? []);
  if (pids.length > 0) m.exec(['/bin/kill', ...pids], shell, call.input);
  for (const name of named)
    m.hit(
      shell,
      /(?:^|\/)node$/.test(name) ? 'fleet_kill' : unitReason(m, name) === null ? null : 'manual_daemon_kill',
    );
  if (named.length + pids.length === 0 && has(options, 'u', 'user')) m.hit(shell, 'fleet_kill');
  return '';
};

export const serviceVerbs: Verbs = {
  systemctl,
  ...all('service rc-service invoke-rc.d', nameFirst(serviceVerbs_)),
  ...all(
    'initctl rcctl dinitctl herd sc net sc.exe net.exe snap nssm nssm.exe',
    verbFirst(/^(?:stop|restart|disable)$/),
  ),
  // Upstart's own; anywhere else a word of somebody's.
  ...all('stop restart', (call) => {
    hitUnits(
      call,
      call.args.filter((word) => /wraptool/.test(word)),
    );
    return '';
  }),
  svcadm: verbFirst(/^(?:disable|restart)$/),
  's6-rc': (call) => {
    const options = readOptions(call.args, { values: 'btln', mixed: true });
    if (has(options, 'd')) hitUnits(call, options.rest.slice(1));
    return '';
  },
  monit: verbFirst(/^(?:stop|restart|quit)$/, { values: 'cgl' }),
  ...all(
    'circusctl god forever honcho overmind',
    verbFirst(/^(?:stop|restart|quit|kill|stopall|terminate)$/),
  ),
  brew: (call) =>
    call.args[0] === 'services'
      ? verbFirst(/^(?:stop|restart|kill)$/)({ ...call, args: call.args.slice(1) })
      : '',
  ...all('sv runsvctrl', runit),
  ...all('svc s6-svc', supervise),
  launchctl,
  supervisorctl,
  pm2,
  ...all('busctl dbus-send gdbus qdbus', bus),
  'start-stop-daemon': startStopDaemon,
  killproc: (call) => {
    const options = readOptions(call.args, { values: 'pt', mixed: true });
    const named = [...(options.flags.get('p') ?? []), ...options.rest];
    for (const name of named.filter((word) => !word.startsWith('-')))
      call.m.hit(call.shell, unitReason(call.m, name) === null ? null : 'manual_daemon_kill');
    return '';
  },
};

/** `/etc/init.d/NAME VERB`, `/etc/rc.d/NAME VERB`. */
export function initScript(call: Call): boolean {
  const name = /^\/etc\/(?:init\.d|rc\.d(?:\/init\.d)?|rc\d\.d)\/([^/]+)$/.exec(call.name)?.[1];
  if (name === undefined) return false;
  if (serviceVerbs_.test(call.args[0] ?? '')) hitUnits(call, [name]);
  return true;
}
