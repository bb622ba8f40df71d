/** Programs that print or filter text: what comes out of them, as far as it can be known. */
import { isKnown } from '../holes.ts';
import { has, readOptions, valueOf } from '../options.ts';
import { all, type Verb, type Verbs } from './call.ts';
import { awk } from './awk.ts';
import { basic, sed } from './sed.ts';
import { characterSet, fromBase32, fromBase64, fromHex, toBase64, unescape } from './decode.ts';
import { inputOf, narrowed } from './lines.ts';
import { takeAll } from './shells.ts';
import { wroteFile } from './files.ts';

const cat: Verb = (call) => inputOf(call, readOptions(call.args, { mixed: true }).rest);

const echo: Verb = ({ args }) => {
  const options = args.findIndex((word) => !/^-[neE]+$/.test(word));
  const given = options < 0 ? args : args.slice(0, options);
  const text = (options < 0 ? [] : args.slice(options)).join(' ');
  const flags = given.join('');
  return (flags.includes('e') ? unescape(text) : text) + (flags.includes('n') ? '' : '\n');
};

const printf: Verb = ({ m, shell, args }) => {
  const target = args[0] === '-v' ? args[1] : undefined;
  const [format = '', ...values] = (target === undefined ? args : args.slice(2)).filter(
    (word, at) => at > 0 || word !== '--',
  );
  let out = '';
  let used = 0;
  do {
    const before = used;
    // Escapes of the format first: what stands in a value is not one.
    out += unescape(format).replace(
      /%(%|[-+ 0#]*(?:\d+)?(?:\.\d+)?([a-zA-Z]))/g,
      (_whole, all: string, letter?: string) => {
        if (all === '%' || letter === undefined) return '%';
        const value = values[used++] ?? '';
        return letter === 'b' ? unescape(value) : letter === 'c' ? value.slice(0, 1) : value;
      },
    );
    if (used === before) break;
  } while (used < values.length && out.length < 65_536);
  if (target === undefined) return m.bounded(out);
  shell.vars.set(target, [m.bounded(out)]);
  return '';
};

const grep: Verb = (call) => {
  const options = readOptions(call.args, {
    values: 'efmABCdD',
    long: [
      'regexp',
      'file',
      'max-count',
      'after-context',
      'before-context',
      'context',
      'include',
      'exclude',
      'color',
      'colour',
    ],
    mixed: true,
  });
  const given = valueOf(options, 'e', 'regexp');
  const [first = '', ...files] = given === undefined ? options.rest : [given, ...options.rest];
  const fixed = has(options, 'F', 'fixed-strings') || /^fgrep$/.test(call.name);
  const pattern = fixed
    ? first.replace(/[\^$\\.*+?()[\]{}|]/g, '\\$&')
    : basic(first, has(options, 'E', 'P', 'extended-regexp', 'perl-regexp') || /egrep|rg|ag/.test(call.name));
  const how = { invert: has(options, 'v', 'invert-match'), anyCase: has(options, 'i', 'ignore-case') };
  if (has(options, 'l', 'L', 'files-with-matches', 'files-without-match')) {
    // Whose command line it is stands in the name of the file.
    const processes = files.some((file) =>
      /^\/proc\/[^/]*\/(?:cmdline|comm|status|stat|environ)$/.test(file),
    );
    return processes
      ? narrowed(call, call.m.targets('fleet_kill', 'processes'), pattern, how)
      : call.m.holes.unknown;
  }
  const text = inputOf(call, files);
  if (has(options, 'q', 'quiet', 'c', 'count')) return '';
  if (has(options, 'o', 'only-matching') && isKnown(text))
    return isPlain(text, first) ? text : call.m.holes.unknown;
  return narrowed(call, text, pattern, how);
};

function isPlain(text: string, pattern: string): boolean {
  return text.trim() === pattern;
}

const tr: Verb = (call) => {
  const { rest, flags } = readOptions(call.args, {});
  const text = takeAll(call.input);
  const from = characterSet(rest[0] ?? '');
  const complement = flags.has('c') || flags.has('C') || flags.has('complement');
  if (complement)
    return isKnown(text) && flags.has('d')
      ? Array.from(text)
          .filter((one) => from.includes(one))
          .join('')
      : text;
  if (flags.has('d') || flags.has('delete'))
    return Array.from(text)
      .filter((one) => !from.includes(one))
      .join('');
  if (rest.length < 2) return text;
  const to = characterSet(rest[1] ?? '');
  const map = new Map(from.map((one, at) => [one, to[Math.min(at, to.length - 1)] ?? '']));
  return call.m.decoded(Array.from(text, (one) => map.get(one) ?? one).join(''));
};

const rev: Verb = (call) =>
  inputOf(call, readOptions(call.args, {}).rest)
    .split('\n')
    .map((line) => call.m.decoded(Array.from(line).reverse().join('')))
    .join('\n');

function decoder(
  decode: (text: string) => string,
  flags: readonly string[],
  encode?: (text: string) => string,
): Verb {
  return (call) => {
    const options = readOptions(call.args, { values: 'wi', mixed: true });
    const file = valueOf(options, 'i', 'input');
    const text = inputOf(
      call,
      file === undefined || file === '' ? options.rest.filter((word) => word !== '-') : [file],
    );
    if (!has(options, ...flags))
      return isKnown(text) && encode !== undefined ? `${encode(text)}\n` : call.m.holes.unknown;
    return isKnown(text) ? call.m.decoded(decode(text)) : call.m.holes.unknown;
  };
}

const openssl: Verb = (call) => {
  const { args, m } = call;
  const decodes =
    /^(?:base64|enc)$/.test(args[0] ?? '') &&
    args.includes('-d') &&
    (args[0] === 'base64' || args.includes('-base64') || args.includes('-a'));
  const at = args.indexOf('-in');
  const text = inputOf(call, at < 0 ? [] : [args[at + 1] ?? '']);
  return decodes && isKnown(text) ? m.decoded(fromBase64(text)) : m.holes.unknown;
};

const head: Verb = (call) => {
  const number = /^-(\d+)$/.exec(call.args[0] ?? '')?.[1];
  const options = readOptions(number === undefined ? call.args : call.args.slice(1), {
    values: 'nc',
    long: ['lines', 'bytes', 'pid', 'sleep-interval'],
    mixed: true,
  });
  const text = inputOf(call, options.rest);
  const wanted = number ?? valueOf(options, 'n', 'lines') ?? '10';
  if (!isKnown(text) || !/^\+?\d+$/.test(wanted) || has(options, 'c', 'bytes')) return text;
  const lines = text.split('\n').slice(0, -1);
  const count = Number(wanted.replace('+', ''));
  const kept = call.name.endsWith('tail')
    ? wanted.startsWith('+')
      ? lines.slice(count - 1)
      : lines.slice(-count)
    : lines.slice(0, count);
  return kept.map((line) => `${line}\n`).join('');
};

const cut: Verb = (call) => {
  const options = readOptions(call.args, {
    values: 'dfcb',
    long: ['delimiter', 'fields', 'characters', 'bytes', 'output-delimiter'],
    mixed: true,
  });
  const text = inputOf(call, options.rest);
  const field = valueOf(options, 'f', 'fields');
  if (!isKnown(text)) return call.m.blurred(text);
  if (field === undefined || !/^\d+$/.test(field)) return call.m.blurred(text);
  const by = valueOf(options, 'd', 'delimiter') ?? '\t';
  return text
    .split('\n')
    .map((line) => (line.includes(by) ? (line.split(by)[Number(field) - 1] ?? '') : line))
    .join('\n');
};

const tee: Verb = (call) => {
  const { rest, flags } = readOptions(call.args, { mixed: true });
  const text = takeAll(call.input);
  for (const file of rest) wroteFile(call.m, call.shell, file, text, flags.has('a') || flags.has('append'));
  return text;
};

const killing = /^(?:\/usr)?(?:\/s?bin\/)(?:p?kill|killall5?|skill|fuser|reboot|shutdown|sh|bash)$/;

const copy: Verb = ({ m, args }) => {
  const { rest } = readOptions(args, {
    values: 'mtogS',
    long: ['mode', 'target-directory', 'owner', 'group'],
    mixed: true,
  });
  const [from = '', to = ''] = rest;
  const content = m.files.get(from);
  if (content !== undefined && rest.length === 2) m.files.set(to, content);
  if (killing.test(from) && rest.length === 2 && from !== to) m.programs.set(to, from);
  return '';
};

const seq: Verb = ({ m, args }) => {
  const numbers = readOptions(args, { values: 'fs', mixed: true }).rest.map(Number);
  const [first = 1, last = first] = numbers.length === 1 ? [1, numbers[0]] : [numbers[0], numbers.at(-1)];
  const step = numbers.length === 3 ? (numbers[1] ?? 1) : 1;
  const count = Math.floor((last - first) / step) + 1;
  if (!Number.isFinite(count) || count < 0 || step === 0) return '';
  const shown = Array.from({ length: Math.min(count, 200) }, (_none, at) => `${first + at * step}\n`).join(
    '',
  );
  return count > 200 ? shown + m.holes.unknown : shown;
};

const same: Verb = (call) => {
  const { rest } = readOptions(call.args, { values: 'kt', mixed: true });
  return inputOf(call, rest);
};

const tac: Verb = (call) => {
  const lines = inputOf(call, readOptions(call.args, {}).rest).split('\n').slice(0, -1);
  return lines
    .toReversed()
    .map((line) => `${line}\n`)
    .join('');
};

/** Where a command is: its own name, which runs as the command itself does. */
const which: Verb = ({ args }) =>
  args
    .filter((word) => !word.startsWith('-'))
    .map((word) => `${word.includes('/') ? '' : '/usr/bin/'}${word}\n`)
    .join('');

const dd: Verb = (call) => {
  const of = call.args.find((word) => word.startsWith('of='))?.slice(3);
  const from = call.args.find((word) => word.startsWith('if='))?.slice(3);
  const text = inputOf(call, from === undefined ? [] : [from]);
  if (of === undefined) return text;
  wroteFile(call.m, call.shell, of, text, false);
  return '';
};

const basename: Verb = ({ args }) => `${(args[0] ?? '').replace(/\/+$/, '').split('/').pop() ?? ''}\n`;

export const textVerbs: Verbs = {
  cat,
  echo,
  printf,
  ...all('grep egrep fgrep zgrep rg ag', grep),
  tr,
  rev,
  base64: decoder(fromBase64, ['d', 'decode', 'D'], toBase64),
  base32: decoder(fromBase32, ['d', 'decode', 'D']),
  basenc: decoder(fromBase64, ['d', 'decode']),
  xxd: decoder(fromHex, ['r', 'revert']),
  openssl,
  ...all('head tail', head),
  cut,
  ...all('sed gsed', sed),
  ...all('awk gawk mawk nawk', awk),
  tee,
  sponge: tee,
  ...all('cp mv install ln', copy),
  seq,
  ...all('sort uniq nl column fmt fold paste unexpand expand iconv pv stdbuf-cat more less bat', same),
  tac,
  which,
  dd,
  basename,
  // The numbers in /proc are all processes.
  ls: ({ m, args }) =>
    args.some((word) => /^\/proc\/?$/.test(word)) ? m.targets('fleet_kill', 'processes') : m.holes.unknown,
  jobs: ({ m }) => m.hole({ of: 'own' }),
  hostname: () => 'localhost\n',
  pwd: () => '/\n',
  yes: ({ args }) => `${args.join(' ') || 'y'}\n`,
};
