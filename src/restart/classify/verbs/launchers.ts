/** Programs that run a command in ways of their own: from a list, for each file, later, in a terminal, as a task. */
import { childShell } from '../machine.ts';
import { isKnown } from '../holes.ts';
import { has, readOptions, valueOf } from '../options.ts';
import { all, type Call, type Verb, type Verbs } from './call.ts';
import { engineApi } from './containers.ts';
import { runSchedule } from './files.ts';
import { inputOf } from './lines.ts';
import { namedForKill } from './names.ts';
import { runFile, takeAll } from './shells.ts';

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
  const text = file === undefined ? takeAll(input) : m.exec(['cat', file], shell, { rest: '' });
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

const tmux: Verb = ({ m, shell, args }) => {
  const { rest } = readOptions(args, { values: 'LSfcT' });
  for (const line of split(rest, ';')) {
    const [verb = '', ...words] = line;
    if (/^(?:send-keys|send)$/.test(verb)) {
      const { rest: keys } = readOptions(words, { values: 'tN' });
      m.text(
        keys
          .map((key) => (/^(?:Enter|C-m|C-j|KPEnter)$/i.test(key) ? '\n' : /^Space$/i.test(key) ? ' ' : key))
          .join(''),
        childShell(shell),
        { rest: '' },
      );
    } else if (
      /^(?:new-session|new|new-window|neww|split-window|splitw|respawn-pane|respawnp|respawn-window|respawnw|run-shell|run|if-shell|if|popup|display-popup|pipe-pane|pipep)$/.test(
        verb,
      )
    ) {
      const { rest: command } = readOptions(words, { values: 'tscFnxyelwST' });
      for (const text of /^(?:if|if-shell)$/.test(verb) ? command : [command.join(' ')])
        m.text(text, childShell(shell), { rest: '' });
    } else if (/^kill-(?:server|session|window|pane)$|^kill[wp]$/.test(verb))
      m.hit(shell, words.some((word) => /wraptool/.test(word)) ? 'indirect' : null);
  }
  return '';
};

function split(words: readonly string[], by: string): string[][] {
  const lines: string[][] = [[]];
  for (const word of words) {
    if (word === by) lines.push([]);
    else lines.at(-1)?.push(word);
  }
  return lines;
}

const screen: Verb = ({ m, shell, args }) => {
  const x = args.indexOf('-X');
  if (x >= 0) {
    const [verb = '', ...words] = args.slice(x + 1);
    if (verb === 'stuff')
      m.text(words.join(' ').replace(/\^M|\\(?:n|r|015)/g, '\n'), childShell(shell), { rest: '' });
    else if (/^(?:exec|screen|eval)$/.test(verb)) m.text(words.join(' '), childShell(shell), { rest: '' });
    else if (/^(?:quit|kill)$/.test(verb)) m.hit(shell, null);
    return '';
  }
  const { rest } = readOptions(args, { values: 'SchpstT' });
  return rest.length === 0 ? '' : m.exec(rest, { ...shell, external: true }, { rest: '' });
};

/** vim, ed, less and the like run a shell from their commands. */
const editor: Verb = ({ m, shell, args, input }) => {
  const commands = args.filter((_word, index) => /^(?:-c|--cmd|-S)$/.test(args[index - 1] ?? ''));
  const joined = args.flatMap((word) => /^(?:\+|-c)(.+)$/.exec(word)?.[1] ?? []);
  const typed = isKnown(input.rest) ? input.rest.split('\n').filter((line) => line.startsWith('!')) : [];
  for (const command of [...commands, ...joined, ...typed].slice(0, 32)) {
    const text =
      /^:?(?:silent!?\s+)?(?:\d*,?[%$]?\s*)?(?:r\s*|w\s*)?!\s*([^]+)$/.exec(command)?.[1] ??
      /system(?:list)?\(\s*["']([^"']*)["']/.exec(command)?.[1];
    if (text !== undefined) m.text(text, childShell(shell, { indirect: true }), { rest: '' });
  }
  return '';
};

/** npx and its kin: the package's program. */
const npx: Verb = ({ m, shell, args, input }) => {
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
const tasks: Verb = (call) => {
  const { m, shell, args, input, name } = call;
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
  void input;
  return m.holes.unknown;
};

/** git runs shell text from aliases, rebase, bisect and submodules. */
const git: Verb = ({ m, shell, args, input }) => {
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
const tar: Verb = ({ m, shell, args }) => {
  for (const [index, word] of args.entries()) {
    const action =
      /^--checkpoint-action=exec=([^]+)$/.exec(word)?.[1] ??
      /^--(?:to-command|use-compress-program|rsh-command)=([^]+)$/.exec(word)?.[1] ??
      (word === '-I' ? args[index + 1] : undefined);
    if (action !== undefined) m.text(action, childShell(shell), { rest: '' });
  }
  return m.holes.unknown;
};

const socat: Verb = ({ m, shell, args }) => {
  for (const word of args) {
    const [, kind = '', text] = /^(EXEC|SYSTEM|SHELL):([^]+)$/i.exec(word) ?? [];
    if (kind !== '' && text !== undefined)
      m.text(text.replace(/^["']|["'](?=,|$)/g, ''), childShell(shell), { rest: '' });
  }
  return m.holes.unknown;
};

const curl: Verb = (call) => {
  engineApi(call);
  return call.m.holes.unknown;
};

/** SQL shells: their own escape to a shell. */
const sql: Verb = ({ m, shell, args, input }) => {
  for (const text of [...args, ...(isKnown(input.rest) ? [input.rest] : [])]) {
    const line = /^\s*(?:\\!|\.shell|\.system|system\s)\s*([^]+)$/.exec(text)?.[1];
    if (line !== undefined) m.text(line, childShell(shell, { indirect: true }), { rest: '' });
  }
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
