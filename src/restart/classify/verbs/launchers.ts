/** Programs that run a command in ways of their own: from a list, for each file, later, in a terminal, as a task. */
import { childShell } from '../machine.ts';
import { has, readOptions, valueOf } from '../options.ts';
import { all, type Call, type Verb, type Verbs } from './call.ts';
import { runSchedule } from './files.ts';
import { inputOf } from './lines.ts';
import { runFile, takeAll } from './shells.ts';
import { curl, git, npx, socat, sql, tar, tasks } from './tools.ts';
import { editor, screen, tmux } from './terminals.ts';

const mostItems = 100;

const xargs: Verb = ({ m, shell, args, input }) => {
  const options = readOptions(args, {
    values: 'IJadEnPLsRS',
    attached: 'eil',
    long: [
      'arg-file',
      'delimiter',
      'max-args',
      'max-procs',
      'max-lines',
      'max-chars',
      'replace',
      'eof',
      'process-slot-var',
    ],
  });
  const file = valueOf(options, 'a', 'arg-file');
  const text = file === undefined ? takeAll(input) : m.exec(['cat', file], shell, input);
  const replace = valueOf(options, 'I', 'J', 'replace', 'i');
  const items = text
    .split(replace === undefined ? /[\s\0]+/ : /[\n\0]/)
    .map((item) => item.trim())
    .filter((item) => item !== '');
  const command = options.rest.length === 0 ? ['echo'] : options.rest;
  const inner = { ...shell, external: true };
  if (items.length === 0)
    return has(options, 'r', 'no-run-if-empty') ? '' : m.exec(command, inner, { rest: '' });
  if (replace === undefined) return m.exec([...command, ...items], inner, { rest: '' });
  const mark = replace === '' ? '{}' : replace;
  return items
    .slice(0, mostItems)
    .map((item) =>
      m.exec(
        command.map((word) => m.bounded(word.replaceAll(mark, () => item))),
        inner,
        { rest: '' },
      ),
    )
    .join('');
};

/** GNU parallel: `parallel kill ::: 4242`. */
const parallel: Verb = ({ m, shell, args, input }) => {
  const { rest } = readOptions(args, {
    values: 'jaNnPSd',
    long: ['jobs', 'arg-file', 'colsep', 'delay', 'timeout', 'sshlogin'],
  });
  const at = rest.findIndex((word) => /^:::[:+]?$/.test(word));
  const command = (at < 0 ? rest : rest.slice(0, at)).join(' ');
  const items =
    at < 0
      ? takeAll(input)
          .split('\n')
          .filter((line) => line !== '')
      : rest.slice(at + 1);
  for (const item of items.slice(0, mostItems)) {
    const line =
      command === ''
        ? item
        : /\{[^}]*\}/.test(command)
          ? command.replace(/\{[^}]*\}/g, () => item)
          : `${command} ${item}`;
    m.text(line, childShell(shell), { rest: '' });
  }
  return m.holes.unknown;
};

/** find: -exec and its kin run a command for what is found; what is found has the place's owner. */
const find: Verb = ({ m, shell, args }) => {
  const places = args.slice(
    0,
    Math.max(
      0,
      args.findIndex((word) => /^[-(!]/.test(word)),
    ),
  );
  const named = args.find((_word, at) => /^-i?name$/.test(args[at - 1] ?? ''));
  const found = /wraptool/.test([...places, named ?? ''].join(' '))
    ? `${places[0] ?? '.'}/${named ?? 'x'}`
    : m.holes.unknown;
  for (let at = 0; at < args.length; at += 1) {
    if (!/^-(?:exec|execdir|ok|okdir)$/.test(args[at] ?? '')) continue;
    const end = args.findIndex((word, index) => index > at && (word === ';' || word === '+'));
    const line = args.slice(at + 1, end < 0 ? undefined : end);
    m.exec(
      line.map((word) => word.replaceAll('{}', () => found)),
      { ...shell, external: true },
      { rest: '' },
    );
    at = end < 0 ? args.length : end;
  }
  return `${found}\n`;
};

const crontab: Verb = (call) => {
  const options = readOptions(call.args, { values: 'u', mixed: true });
  if (has(options, 'l')) return call.m.holes.unknown;
  if (has(options, 'r', 'e')) return '';
  runSchedule(call.m, call.shell, inputOf(call, options.rest), false);
  return '';
};

const at: Verb = (call) => {
  const options = readOptions(call.args, { values: 'qft', mixed: true });
  if (has(options, 'l', 'r', 'd', 'c', 'V')) return '';
  const file = valueOf(options, 'f');
  call.m.text(inputOf(call, file === undefined ? [] : [file]), childShell(call.shell), { rest: '' });
  return '';
};

/** Our own: `exec` runs inside a session. */
const wraptool: Verb = (call) => {
  const end = call.args.indexOf('--');
  if (call.args[0] === 'exec' && end > 0)
    call.m.exec(
      call.args.slice(end + 1),
      childShell(call.shell, { scope: 'inside', external: true }),
      call.input,
    );
  return call.m.holes.unknown;
};

/** Tools that run shell text for measuring, or whenever a file changes. */
const joined =
  (spec: Parameters<typeof readOptions>[1]): Verb =>
  ({ m, shell, args }) => {
    const { rest } = readOptions(args, spec);
    for (const text of new Set([rest.join(' '), ...rest]))
      if (/\s/.test(text)) m.text(text, childShell(shell), { rest: '' });
    return m.holes.unknown;
  };

export const launcherVerbs: Verbs = {
  xargs,
  parallel,
  find,
  crontab,
  ...all('at batch', at),
  tmux,
  screen,
  ...all('vim vi nvim ex view gvim ed less more nano', editor),
  ...all('npx bunx pnpx uvx pipx', npx),
  ...all('npm pnpm yarn make gmake just task rake invoke gulp grunt mage', tasks),
  git,
  wraptool,
  tar,
  socat,
  ...all('curl wget http', curl),
  ...all('mysql psql sqlite3 mariadb', sql),
  go: (call) => {
    const [verb, ...words] = call.args;
    const file = words.find((word) => !word.startsWith('-'));
    return verb === 'run' && file !== undefined ? runFile(call, file, words) : call.m.holes.unknown;
  },
  hyperfine: joined({
    values: 'wrMmpcsSnu',
    long: ['warmup', 'runs', 'prepare', 'cleanup', 'setup', 'shell', 'export-json'],
  }),
  watchexec: (call) => {
    const { rest } = readOptions(call.args, {
      values: 'weifsd',
      long: ['watch', 'exts', 'ignore', 'filter', 'signal', 'debounce'],
    });
    return call.m.text(rest.join(' '), childShell(call.shell), { rest: '' });
  },
  nodemon: (call) => {
    const text = valueOf(
      readOptions(call.args, { values: 'xewi', long: ['exec', 'ext', 'watch', 'ignore'], mixed: true }),
      'x',
      'exec',
    );
    return text === undefined ? '' : call.m.text(text, childShell(call.shell), { rest: '' });
  },
};

/** A program of which only the name is known. */
export function unknownProgram(call: Call): string {
  return runFile(call, call.name, [call.name, ...call.args]);
}
