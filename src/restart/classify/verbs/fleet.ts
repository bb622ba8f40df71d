/** What ends everything, or everything of a user. */
import { has, readOptions } from '../options.ts';
import { isHarmless } from '../signals.ts';
import { all, programOf, type Call, type Verbs } from './call.ts';

const asks = (args: readonly string[]): boolean => args.some((word) => /^--(?:help|version)$/.test(word));

function shutdown({ m, shell, args }: Call): string {
  const options = readOptions(args, { values: 't', mixed: true });
  if (!asks(args) && !has(options, 'c', 'k', 'show')) m.hit(shell, 'fleet_kill');
  return '';
}

/** halt, poweroff, reboot; -w only writes the record. */
function halt({ m, shell, args }: Call): string {
  if (!asks(args) && !args.some((word) => word === '-w' || word === '--wtmp-only'))
    m.hit(shell, 'fleet_kill');
  return '';
}

function init({ m, shell, args }: Call): string {
  if (args.some((word) => /^(?:[0-6sS]|[ua]?emergency|rescue)$/.test(word))) m.hit(shell, 'fleet_kill');
  return '';
}

function killall5({ m, shell, args }: Call): string {
  if (!args.some((word) => word.startsWith('-') && isHarmless(word.slice(1)))) m.hit(shell, 'fleet_kill');
  return '';
}

function loginctl({ m, shell, args }: Call): string {
  const { rest } = readOptions(args, {
    values: 'HMpnso',
    long: ['signal', 'host', 'machine', 'kill-whom'],
    mixed: true,
  });
  if (/^(?:terminate|kill)-(?:user|session|seat)$/.test(rest[0] ?? '') && rest.length > 1)
    m.hit(shell, 'fleet_kill');
  return '';
}

function kexec({ m, shell, args }: Call): string {
  if (args.some((word) => word === '-e' || word === '--exec')) m.hit(shell, 'fleet_kill');
  return '';
}

function slay({ m, shell, args }: Call): string {
  if (args.length > 0) m.hit(shell, 'fleet_kill');
  return '';
}

export const fleetVerbs: Verbs = {
  shutdown,
  ...all('halt poweroff reboot', halt),
  ...all('init telinit', init),
  killall5,
  loginctl,
  kexec,
  slay,
};

/** Whether a name is one of these programs, for what only mentions them. */
export function isFleetProgram(name: string): boolean {
  return Object.hasOwn(fleetVerbs, programOf(name));
}
