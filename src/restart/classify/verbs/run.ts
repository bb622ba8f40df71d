/** From argv to what it means: the verb's own reader, or what can be said of a program that is not known. */
import { fillHoles, isKnown } from '../holes.ts';
import { childShell } from '../machine.ts';
import { globMatches } from '../pattern.ts';
import { programOf, type Call, type Verb, type Verbs } from './call.ts';
import { codeVerbs, interpreter } from './code.ts';
import { containerVerbs } from './containers.ts';
import { fleetVerbs } from './fleet.ts';
import { holderVerbs } from './holders.ts';
import { killVerbs, withoutTypography } from './kill.ts';
import { launcherVerbs, unknownProgram } from './launchers.ts';
import { namedForKill, readers } from './names.ts';
import { pkillVerbs } from './pkill.ts';
import { initScript, serviceVerbs } from './services.ts';
import { shellVerbs } from './shells.ts';
import { textVerbs } from './text.ts';
import { isLoader, wrapperVerbs } from './wrappers.ts';

const verbs: ReadonlyMap<string, Verb> = new Map(
  [
    textVerbs,
    shellVerbs,
    wrapperVerbs,
    launcherVerbs,
    codeVerbs,
    killVerbs,
    pkillVerbs,
    fleetVerbs,
    serviceVerbs,
    holderVerbs,
    containerVerbs,
  ].flatMap((table: Verbs) => Object.entries(table)),
);

/** Verbs that a glob or an unknown wrapper is looked at for. */
const killing = [
  'kill',
  'pkill',
  'killall',
  'skill',
  'killall5',
  'fuser',
  'systemctl',
  'docker',
  'reboot',
  'shutdown',
];
const killWord = /^(?:.*\/)?(?:kill|pkill|killall|skill)$/;
const runner = /^(?:.*\/)?(?:(?:ba|da|z)?sh|sudo|env|nohup|timeout|python3?|node|perl|ruby)$/;

/** What the command would print; what it would hit is recorded. */
export function runVerb(call: Call): string {
  const { m, shell, args, input } = call;
  const name = withoutTypography(call.name);
  if (!isKnown(name)) return unknownVerb({ ...call, name });
  const program = programOf(name);
  if (/\s/.test(name) && /^\S+[\u00a0\u2000-\u200b\u202f\u3000]/.test(name))
    return m.exec([...name.split(/[\s\u200b]+/), ...args], shell, input);
  if (initScript({ ...call, name })) return '';
  const copied = m.programs.get(name) ?? m.programs.get(name.replace(/^\.\//, ''));
  if (copied !== undefined) return m.exec([copied, ...args], shell, input);
  const verb = verbs.get(program);
  if (verb !== undefined) return verb({ ...call, name });
  if (interpreter({ ...call, name }, program)) return m.blurred(input.rest);
  if (isLoader(name))
    return m.exec(
      args.filter((word, at) => at > 0 || !word.startsWith('-')),
      { ...shell, external: true },
      input,
    );
  if (/[*?[]/.test(name)) {
    const meant = killing.find((one) => globMatches(program, one));
    if (meant !== undefined) return m.exec([`/bin/${meant}`, ...args], shell, input);
  }
  if (m.files.has(name) || m.files.has(name.replace(/^\.\//, '')) || namedForKill(name))
    return unknownProgram(call);
  if (!readers.has(program)) unknownWrapper(call);
  return m.blurred(input.rest);
}

/** A verb that is not known: bad with a gateway's pid, or where what is known of it reads as a kill. */
function unknownVerb(call: Call): string {
  const { m, name, args, shell, input } = call;
  const [origin] = m.holes.in(name);
  if (origin?.of === 'any')
    for (const text of origin.texts) m.exec([...text.split(/\s+/), ...args], shell, input);
  const pids = args.some((word) => /^[+-]?\d+$/.test(word) && m.known.pids.has(Math.abs(Number(word))));
  const glob = fillHoles(programOf(name), '*');
  // A letter or none could be any program.
  const meant = /[a-z]{2}/.test(glob) ? killing.find((one) => globMatches(glob, one)) : undefined;
  if (pids && shell.scope !== 'elsewhere') m.hit(shell, 'indirect');
  else if (meant !== undefined) m.exec([meant, ...args], childShell(shell, { indirect: true }), input);
  return m.holes.unknown;
}

/** A program that is not known and is given a kill as its last words, or as the value of an option that runs text. */
function unknownWrapper({ m, args, shell, input }: Call): void {
  const at = args.findIndex((word) => killWord.test(word) || runner.test(word));
  // A wrapper does not change what it runs.
  if (at >= 0 && at < args.length - 1) m.exec(args.slice(at), { ...shell, external: true }, input);
  for (const [index, word] of args.entries()) {
    const option = args[index - 1] ?? '';
    const runs = /^(?:-[ceEx]|--(?:exec|command|eval|run|cmd|shell|script|on-\w+|hook))$/.test(option);
    const joined = /^--(?:exec|command|eval|run|cmd|shell|script|hook)=([^]+)$/.exec(word)?.[1];
    if (runs && /\s/.test(word)) m.text(word, childShell(shell), input);
    else if (joined !== undefined) m.text(joined, childShell(shell), input);
  }
}
