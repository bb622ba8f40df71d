/** Whoever holds a file, a socket or a port: fuser, lsof, ss, and tools that are made for it. */
import { fileOwner, nameWidth, widthReason } from '../gateway.ts';
import { isKnown } from '../holes.ts';
import { has, readOptions, valueOf } from '../options.ts';
import { isHarmless, isSignal } from '../signals.ts';
import type { ReasonClass } from '../types.ts';
import { pidReason } from './kill.ts';
import { all, programOf, type Call, type Verbs } from './call.ts';

/** The holder of a file may be a gateway unless the file is another daemon's. */
function holderReason({ m }: Call, file: string): ReasonClass | null {
  return /[^\d/]/.test(file) && isKnown(file) && fileOwner(m, file) === 'other' ? null : 'fd_kill';
}

function fuser(call: Call): string {
  const { m, shell } = call;
  const signals = call.args.filter((word) => /^-[A-Z\d]/.test(word) && isSignal(word.slice(1)));
  const options = readOptions(
    call.args.filter((word) => !signals.includes(word)),
    { values: 'nN', long: ['namespace'], mixed: true },
  );
  if (!has(options, 'k', 'kill') || has(options, 'l', 'V', 'list-signals', 'version'))
    return pidsOf(call, options.rest);
  if (signals.some((word) => isHarmless(word.slice(1)))) return '';
  for (const file of options.rest) m.hit(shell, holderReason(call, file));
  return '';
}

function pidsOf(call: Call, files: readonly string[]): string {
  const reasons = files.map((file) => holderReason(call, file));
  return call.m.targets(reasons.find((reason) => reason !== null) ?? null, 'sockets');
}

function lsof(call: Call): string {
  const { m } = call;
  const options = readOptions(call.args, { values: 'cdDfFgkKmopsSTuz', attached: 'iL', mixed: true });
  const command = valueOf(options, 'c');
  const pid = valueOf(options, 'p');
  const addresses = (options.flags.get('i') ?? []).filter((value) => value !== '');
  if (command !== undefined) return m.targets(widthReason(nameWidth(command), 'pattern_kill'));
  if (pid !== undefined) return m.targets(pidReason(call, pid) ?? null);
  if (has(options, 'u') && options.rest.length + addresses.length === 0) return m.targets('fleet_kill');
  // `-i` may stand apart from its address; without any file it is all that is open.
  return has(options, 'i') || options.rest.length === 0
    ? m.targets('fd_kill', 'sockets')
    : pidsOf(call, options.rest);
}

/** Lists of sockets with their processes; ss also closes them, a listener's too. */
function sockets({ m, name, args, shell }: Call): string {
  const peer = args[args.indexOf('dst') + 1] ?? '';
  const abroad = args.includes('dst') && !/^\[?(?:127\.|0\.0\.0\.0|localhost|::1?\b|:)/.test(peer);
  const closes =
    programOf(name) === 'ss' && !abroad && args.some((word) => /^-[A-Za-z]*K|^--kill$/.test(word));
  if (closes) m.hit(shell, 'fd_kill');
  return m.targets('fd_kill', 'sockets');
}

/** kill-port, fkill: they kill the holder of a port, or by pid or name. */
function killPort(call: Call): string {
  const { m, shell } = call;
  const { rest } = readOptions(call.args, { values: 'p', long: ['port', 'method'], mixed: true });
  const ports = readOptions(call.args, { values: 'p', long: ['port'], mixed: true }).flags;
  const named = [...rest, ...(ports.get('p') ?? []), ...(ports.get('port') ?? [])];
  if (call.args.some((word) => /^--(?:help|version)$/.test(word))) return '';
  for (const word of named) {
    const byName = call.name.startsWith('fkill') && /^[A-Za-z]/.test(word);
    m.hit(shell, byName ? widthReason(nameWidth(word), 'pattern_kill') : 'fd_kill');
  }
  return '';
}

export const holderVerbs: Verbs = {
  fuser,
  lsof,
  ...all('ss netstat', sockets),
  ...all('kill-port killport fkill fkill-cli port-killer kill-my-port', killPort),
};
