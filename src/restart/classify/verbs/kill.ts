/** `kill` and what else takes process ids. */
import { widthReason, nameWidth } from '../gateway.ts';
import { isKnown } from '../holes.ts';
import { readOptions } from '../options.ts';
import { isHarmless, isSignal } from '../signals.ts';
import type { ReasonClass } from '../types.ts';
import type { Call, Verbs } from './call.ts';

/** Quotation marks that quote nothing in a shell, and blanks that part nothing: a paste may mend them. */
const typographic =
  /^[\s\u00a0\u2000-\u200b\u2028\u2029\u202f\u3000\u201a-\u201f\u2018\u2019\u00ab\u00bb\u2039\u203a]+|[\s\u00a0\u2000-\u200b\u2028\u2029\u202f\u3000\u201a-\u201f\u2018\u2019\u00ab\u00bb\u2039\u203a]+$/g;

export function withoutTypography(text: string): string {
  return text.replace(typographic, '');
}

type Read = { readonly asks: boolean; readonly harmless: boolean; readonly targets: readonly string[] };

/** Signal and targets as bash, dash, procps and util-linux read them. */
function read(args: readonly string[]): Read {
  const targets: string[] = [];
  let signal: string | null = null;
  let asks = false;
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at] ?? '';
    const joined = /^(?:-[sn]|--signal=)(.+)$/.exec(word)?.[1];
    if (targets.length > 0) targets.push(word);
    else if (word === '--') {
      targets.push(...args.slice(at + 1));
      break;
    } else if (/^-[lLVhp]$/.test(word) || /^--(?:list|table|help|version|pid)(?:=|$)/.test(word)) asks = true;
    else if (word === '-s' || word === '-n' || word === '--signal') signal = args[++at] ?? '';
    else if (word === '-q' || word === '--queue') at += 1;
    else if (word === '--timeout') at += 2;
    else if (/^(?:-a|--all|--verbose|--require-handler|-r)$/.test(word)) continue;
    else if (joined !== undefined && !isSignal(word.slice(1))) signal = joined;
    else if (/^-[^-]/.test(word) && signal === null && !(at === args.length - 1 && looksLikeGroup(word)))
      signal = word.slice(1);
    else targets.push(word);
  }
  return { asks, harmless: signal !== null && isHarmless(signal), targets };
}

/** `kill -4242` alone: some send it to the group, the others refuse it. */
function looksLikeGroup(word: string): boolean {
  return /^-\d+$/.test(word) && !isSignal(word.slice(1));
}

/** What a kill of that process would hit; undefined where the target would be refused. */
export function pidReason(call: Call, target: string): ReasonClass | null | undefined {
  const { m, shell } = call;
  const text = withoutTypography(target);
  if (!isKnown(text)) return ofHoles(call, text);
  if (text.startsWith('%')) return null;
  if (/^[+-]?\d+$/.test(text)) {
    const pid = Number(text);
    if (pid === -1) return 'fleet_kill';
    return shell.scope !== 'elsewhere' && m.known.pids.has(Math.abs(pid)) ? 'manual_daemon_kill' : null;
  }
  if (/[*?[]/.test(text)) return 'indirect';
  // Only util-linux takes names; a builtin refuses them, as all refuse what begins like a number.
  if (!(shell.external || call.name.includes('/')) || !/^[A-Za-z_]/.test(text)) return undefined;
  return widthReason(nameWidth(text), 'manual_daemon_kill');
}

function ofHoles(call: Call, text: string): ReasonClass | null {
  const origins = call.m.holes.in(text);
  // A sign in front makes it a group; anything else mixed in makes it unreadable.
  if (origins.length !== 1 || !/^-?.$/su.test(text)) {
    const worst = origins.find((origin) => origin.of === 'targets' && origin.reason !== null);
    return worst?.of === 'targets' ? worst.reason : 'indirect';
  }
  const [origin] = origins;
  if (origin?.of === 'own') return null;
  if (origin?.of === 'targets') return origin.reason;
  if (origin?.of !== 'any') return 'indirect';
  const reasons = origin.texts.flatMap((one) => one.split(/\s+/)).map((one) => pidReason(call, one));
  return reasons.find((reason) => reason !== null && reason !== undefined) ?? null;
}

/** Records the kill of each target. */
export function killPids(call: Call, targets: readonly string[]): void {
  for (const target of targets) {
    const reason = pidReason(call, target);
    if (reason !== undefined && target !== '') call.m.hit(call.shell, reason);
  }
}

function kill(call: Call): string {
  const { asks, harmless, targets } = read(call.args);
  if (!asks && !harmless) killPids(call, targets);
  return '';
}

/** taskkill /PID 4242 /F, /IM node.exe */
function taskkill(call: Call): string {
  const { args, m, shell } = call;
  for (const [at, word] of args.entries()) {
    const value = args[at + 1] ?? '';
    if (/^[/-]pid$/i.test(word)) killPids(call, [value]);
    if (/^[/-]im$/i.test(word))
      m.hit(shell, widthReason(nameWidth(value.replace(/\.exe$/i, ''), true), 'pattern_kill'));
  }
  return '';
}

/** prlimit runs a command, or with a pid can end a process by its limits; reading them does not. */
function prlimit(call: Call): string {
  const { rest } = readOptions(call.args, { values: 'po', long: ['pid', 'output'] });
  if (rest.length > 0) return call.m.exec(rest, { ...call.shell, external: true }, call.input);
  const pid = call.args.flatMap((word, at) => {
    const joined = /^(?:--pid=|-p)(\d+)$/.exec(word)?.[1];
    return joined ?? (/^(?:--pid|-p)$/.test(word) ? (call.args[at + 1] ?? '') : []);
  });
  if (call.args.some((word) => /^(?:--(?:cpu|as|data|rss|rttime)|-[tvdmy])=?\d/.test(word)))
    killPids(call, pid);
  return '';
}

export const killVerbs: Verbs = { kill, taskkill, 'taskkill.exe': taskkill, prlimit };
