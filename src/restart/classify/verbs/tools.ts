/** Developer's tools that run a program, a task or shell text on the way. */
import { isKnown } from '../holes.ts';
import { childShell } from '../machine.ts';
import { readOptions, valueOf } from '../options.ts';
import type { Verb } from './call.ts';
import { engineApi } from './containers.ts';
import { namedForKill } from './names.ts';

/** npx and its kin: the package's program. */
export const npx: Verb = ({ m, shell, args, input }) => {
  const options = readOptions(args, { values: 'pc', long: ['package', 'call', 'from', 'with', 'registry'] });
  const text = valueOf(options, 'c', 'call');
  if (text !== undefined) return m.text(text, childShell(shell), input);
  const [program = '', ...rest] = options.rest;
  return m.exec(
    [program.replace(/(?<=.)@[^/]*$/, ''), ...rest],
    { ...shell, external: true, indirect: shell.indirect },
    input,
  );
};

/** Package managers and task runners: a task that is named for a kill. */
export const tasks: Verb = (call) => {
  const { m, shell, args, name } = call;
  const { rest } = readOptions(args, {
    values: 'CfjwP',
    long: ['prefix', 'workspace', 'filter', 'dir', 'cwd', 'file', 'directory', 'justfile'],
  });
  const [verb = '', ...words] = rest;
  if (/^(?:exec|x|dlx)$/.test(verb))
    return npx({ ...call, args: words[0] === '--' ? words.slice(1) : words });
  const runner = /^(?:make|gmake|just|task|rake|invoke|gulp|grunt|mage|ninja)$/.test(name);
  const own =
    /^(?:install|i|add|ci|remove|uninstall|rm|update|test|t|publish|view|info|init|link|ls|list|audit|config|help|search|why|outdated|pack|create|start|login|cache)$/;
  const task = /^(?:run|run-script|rum|urn)$/.test(verb) ? words[0] : own.test(verb) ? undefined : verb;
  const targets = runner ? rest.filter((word) => !word.includes('=')) : [task ?? ''];
  if (targets.some(namedForKill)) m.hit(shell, 'indirect');
  return m.holes.unknown;
};

/** git runs shell text from aliases, rebase, bisect and submodules. */
export const git: Verb = ({ m, shell, args, input }) => {
  const options = readOptions(args, {
    values: 'cC',
    long: ['git-dir', 'work-tree', 'namespace', 'exec-path', 'config-env'],
  });
  for (const setting of options.flags.get('c') ?? []) {
    const text =
      /^(?:alias\.[^=]+=!|core\.(?:pager|editor|sshcommand|fsmonitor|askpass)=|sequence\.editor=|diff\.external=)([^]+)$/i.exec(
        setting,
      )?.[1];
    if (text !== undefined) m.text(text, childShell(shell), input);
  }
  const [verb = '', ...words] = options.rest;
  const text =
    verb === 'rebase'
      ? valueOf(
          readOptions(words, { values: 'xsX', long: ['exec', 'onto', 'strategy'], mixed: true }),
          'x',
          'exec',
        )
      : verb === 'submodule' && words[0] === 'foreach'
        ? words
            .slice(1)
            .filter((word) => word !== '--recursive')
            .join(' ')
        : verb === 'filter-branch'
          ? words.find((_word, index) => /^--(?:tree|index|msg|env)-filter$/.test(words[index - 1] ?? ''))
          : undefined;
  if (text !== undefined) m.text(text, childShell(shell), input);
  if (verb === 'bisect' && words[0] === 'run') m.exec(words.slice(1), { ...shell, external: true }, input);
  return m.holes.unknown;
};

/** Options of programs whose value is run as a command. */
export const tar: Verb = ({ m, shell, args }) => {
  for (const [index, word] of args.entries()) {
    const action =
      /^--checkpoint-action=exec=([^]+)$/.exec(word)?.[1] ??
      /^--(?:to-command|use-compress-program|rsh-command)=([^]+)$/.exec(word)?.[1] ??
      (word === '-I' ? args[index + 1] : undefined);
    if (action !== undefined) m.text(action, childShell(shell), { rest: '' });
  }
  return m.holes.unknown;
};

export const socat: Verb = ({ m, shell, args }) => {
  for (const word of args) {
    const [, kind = '', text] = /^(EXEC|SYSTEM|SHELL):([^]+)$/i.exec(word) ?? [];
    if (kind !== '' && text !== undefined)
      m.text(text.replace(/^["']|["'](?=,|$)/g, ''), childShell(shell), { rest: '' });
  }
  return m.holes.unknown;
};

export const curl: Verb = (call) => {
  engineApi(call);
  return call.m.holes.unknown;
};

/** SQL shells: their own escape to a shell. */
export const sql: Verb = ({ m, shell, args, input }) => {
  for (const text of [...args, ...(isKnown(input.rest) ? [input.rest] : [])]) {
    const line = /^\s*(?:\\!|\.shell|\.system|system\s)\s*([^]+)$/.exec(text)?.[1];
    if (line !== undefined) m.text(line, childShell(shell, { indirect: true }), { rest: '' });
  }
  return '';
};
