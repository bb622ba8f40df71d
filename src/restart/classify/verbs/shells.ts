/** Shells and the builtins that run text, keep variables, or define names. */
import { isKnown } from '../holes.ts';
import { childShell, type Input, type Shell } from '../machine.ts';
import { readOptions } from '../options.ts';
import { all, type Call, type Verbs } from './call.ts';
import { namedForKill } from './names.ts';

/** sh, bash and others: -c TEXT, a script, or standard input. */
function shellProgram(call: Call): string {
  const { m, shell, args, input } = call;
  let at = 0;
  let reads = false;
  let text = false;
  let checks = false;
  for (; at < args.length; at += 1) {
    const word = args[at] ?? '';
    if (word === '--' || word === '-') {
      at += 1;
      break;
    }
    if (/^(?:--rcfile|--init-file)$/.test(word)) at += 1;
    else if (/^[-+]O$/.test(word) || /^[-+][a-z]*o$/.test(word)) {
      if (args[at + 1] === 'noexec') checks = true;
      if (/^-[a-z]*c/.test(word)) text = true;
      at += 1;
    } else if (word.startsWith('--')) {
      if (/^--(?:help|version)$/.test(word)) return '';
    } else if (/^[-+][A-Za-z]/.test(word)) {
      if (word.includes('c') && word.startsWith('-')) text = true;
      if (word.includes('s')) reads = true;
      if (word.includes('n') && word.startsWith('-')) checks = true;
    } else break;
  }
  if (checks) return '';
  const operands = args.slice(at);
  if (text) {
    const [source = '', ...positional] = operands;
    return m.text(
      source,
      childShell(shell, { positional: positional.length === 0 ? [call.name] : positional }),
      input,
    );
  }
  const [file] = operands;
  if (file === undefined || reads || file === '/dev/stdin' || file === '/dev/fd/0')
    return fromInput(call, ['sh', ...(reads ? operands : operands.slice(1))]);
  return runFile(call, file, operands);
}

/** Text on standard input; what is not known of it is not judged. */
function fromInput({ m, shell, input }: Call, positional: readonly string[]): string {
  const source = takeAll(input);
  return m.text(source, childShell(shell, { positional }), { rest: '' });
}

export function takeAll(input: Input): string {
  const text = input.rest;
  input.rest = '';
  return text;
}

/** A script: its text where the command wrote it, else only its name tells. */
export function runFile({ m, shell, input }: Call, file: string, positional: readonly string[]): string {
  const source = m.files.get(file) ?? m.files.get(file.replace(/^\.\//, ''));
  if (source !== undefined) {
    const indirect = shell.indirect || !file.startsWith('/dev/fd/');
    return m.text(source, childShell(shell, { positional, indirect }), input);
  }
  if (namedForKill(file)) m.hit(shell, 'indirect');
  return m.holes.unknown;
}

function source(call: Call): string {
  const { m, shell, args, input } = call;
  const [file, ...rest] = args[0] === '--' ? args.slice(1) : args;
  if (file === undefined) return '';
  const text =
    m.files.get(file) ??
    m.files.get(file.replace(/^\.\//, '')) ??
    (file === '/dev/stdin' ? takeAll(input) : undefined);
  if (text === undefined) return runFile(call, file, args);
  return m.text(text, rest.length === 0 ? shell : { ...shell, positional: [file, ...rest] }, input);
}

function evaluate({ m, shell, args, input }: Call): string {
  return m.text((args[0] === '--' ? args.slice(1) : args).join(' '), shell, input);
}

function set({ shell, args }: Call): string {
  const end = args.indexOf('--');
  const values = end >= 0 ? args.slice(end + 1) : args.filter((word) => !/^[-+]/.test(word));
  if (end >= 0 || values.length > 0) setPositional(shell, values);
  return '';
}

function setPositional(shell: Shell, values: readonly string[]): void {
  for (const name of [...shell.vars.keys()]) if (/^\d+$/.test(name)) shell.vars.delete(name);
  shell.vars.set('@', values);
  shell.vars.set('*', values);
  for (const [index, value] of values.entries()) shell.vars.set(String(index + 1), [value]);
}

function shift({ shell, args }: Call): string {
  const values = shell.vars.get('@') ?? shell.positional.slice(1);
  setPositional(shell, values.slice(Math.max(0, Number(args[0] ?? 1)) || 1));
  return '';
}

/** read: the next line of standard input into the variables. */
function read({ m, shell, args, input }: Call): string {
  const { rest, flags } = readOptions(args, { values: 'adinNptu' });
  const end = input.rest.indexOf('\n');
  const line = end < 0 ? input.rest : input.rest.slice(0, end);
  input.rest = end < 0 ? '' : input.rest.slice(end + 1);
  const array = flags.get('a')?.[0];
  if (array !== undefined) shell.vars.set(array, line.split(/\s+/));
  const names = rest.length === 0 ? ['REPLY'] : rest;
  const words = isKnown(line) ? line.trim().split(/\s+/) : [line.trim()];
  for (const [index, name] of names.entries()) {
    const last = index === names.length - 1;
    const value = last ? words.slice(index).join(' ') : (words[index] ?? '');
    // A line that is not known has its pid somewhere.
    shell.vars.set(name, [!isKnown(line) ? m.blurred(line) : value]);
  }
  return '';
}

function mapfile({ shell, args, input }: Call): string {
  const { rest } = readOptions(args, { values: 'dnOsuCc' });
  shell.vars.set(
    rest[0] ?? 'MAPFILE',
    takeAll(input)
      .split('\n')
      .filter((line) => line !== '')
      .slice(0, 200),
  );
  return '';
}

function alias({ shell, args }: Call): string {
  for (const word of args) {
    const [, name, value] = /^([^=]+)=([^]*)$/.exec(word) ?? [];
    if (name !== undefined && value !== undefined) shell.aliases.set(name, value);
  }
  return '';
}

/** trap: its text runs later, in this shell. */
function trap({ m, shell, args, input }: Call): string {
  const [text = ''] = args[0] === '--' ? args.slice(1) : args;
  if (args.length > 1 && !text.startsWith('-')) m.text(text, shell, input);
  return '';
}

/** let: each word is arithmetic; what it gives is kept. */
function letWords({ m, shell, args, input }: Call): string {
  for (const word of args) m.text(`((${word}))`, shell, input);
  return '';
}

export const shellVerbs: Verbs = {
  let: letWords,
  ...all('sh bash dash ash zsh ksh ksh93 mksh rbash yash fish csh tcsh', shellProgram),
  eval: evaluate,
  ...all('source .', source),
  set,
  shift,
  read,
  ...all('mapfile readarray', mapfile),
  alias,
  trap,
  ...all('export declare typeset local readonly', () => ''),
  unset: ({ shell, args }) => {
    for (const name of args) shell.vars.delete(name);
    return '';
  },
  unalias: ({ shell, args }) => {
    for (const name of args) shell.aliases.delete(name);
    return '';
  },
};
