/** Programs in other languages: kills by their own functions, and shell text that they run. */
import { isKnown, fillHoles } from '../holes.ts';
import { childShell } from '../machine.ts';
import { patternWidth } from '../gateway.ts';
import { isHarmless } from '../signals.ts';
import type { Call, Verbs } from './call.ts';
import { all } from './call.ts';
import { fromBase64, fromHex, unescape } from './decode.ts';
import { runFile, takeAll } from './shells.ts';

const longestCode = 16 * 1024;

/** Functions that send a signal. */
const kills =
  /(?:\bos\.(?:kill|killpg)|\bprocess\.kill|\bposix_kill|\bProcess\.kill|(?<![\w.$])(?:kill|killpg)|\b(?:libc|ffi|C)\.kill|\bsignal\.pidfd_send_signal|\bsyscall\.Kill|\bunix\.Kill|\bDeno\.kill|\bprocess\._kill|\bStop-Process|\bsyscall\(\s*(?:62|SYS_kill)\s*,)(?=[\s('"])/g;
/** Objects of processes that are ended by a method. */
const methods =
  /\b(?:psutil\.)?Process\(\s*([^()]*)\s*\)\s*\.\s*(?:kill|terminate|suspend|send_signal)\s*\(/g;
const runners =
  /\b(?:system|popen\d?|exec(?:Sync|File|FileSync|v\w*|l\w*)?|spawn(?:Sync|v\w*|l\w*)?|subprocess|child_process|check_(?:call|output)|shell_exec|passthru|proc_open|getoutput|getstatusoutput|os\.execute|io\.popen|open3|Open3|backtick|qx|run|shell|sh|start_process|start-process|shell-command|call-process|do shell script|Deno\.Command|Bun\.spawn|run_command|Popen|call)\b|`|%x/;
const evaluators =
  /\b(?:eval|exec|Function|getattr|__import__|compile|loads|atob|instance_eval|load|loadstring|send|public_send|call_user_func|globals|locals)\b|\[/;

/** A program's text: what it would kill. */
export function runCode(call: Call, source: string, language: string): void {
  if (source.length > longestCode || !call.m.charge(1 + source.length / 16)) {
    call.m.incomplete = true;
    return;
  }
  const folded = joinLiterals(withoutComments(source, language));
  const { bare, literals } = split(folded);
  const inner: Call = { ...call, shell: childShell(call.shell, { indirect: true, external: true }) };
  killsIn(inner, folded, bare);
  // A container by its name through a client of the engine.
  if (
    /\.(?:kill|stop|restart|remove|pause|terminate)\(/.test(bare) &&
    literals.some((text) => /^wraptool[-@]/.test(text))
  )
    inner.m.hit(inner.shell, 'container_kill');
  if (runners.test(bare)) runLiterals(inner, folded, literals);
  if (evaluators.test(bare)) evaluate(inner, bare, literals, language);
}

const commentOf: Readonly<Record<string, RegExp>> = {
  python: /^\s*#.*$/gm,
  perl: /^\s*#.*$/gm,
  ruby: /^\s*#.*$/gm,
  php: /^\s*(?:#|\/\/).*$/gm,
  node: /^\s*\/\/.*$|\/\*[^*]*\*\//gm,
  lua: /^\s*--.*$/gm,
};

function withoutComments(source: string, language: string): string {
  const comment = commentOf[language];
  return comment === undefined ? source : source.replace(comment, '');
}

/** `'ki' + 'll'`, `'ki' 'll'`, `'ki' . 'll'` as one literal. */
function joinLiterals(source: string): string {
  return source.replace(/(['"])\s*(?:\+|\.\.?)\s*\1/g, '').replace(/'\s*(?:\+|\.\.?)\s*"([^'"]*)"/g, "$1'");
}

type Split = { readonly bare: string; readonly literals: readonly string[] };

/** The code with its literals emptied, and the literals. */
function split(source: string): Split {
  const literals: string[] = [];
  const bare = source.replace(
    /'''([^]*?)'''|"""([^]*?)"""|'((?:[^'\\]|\\[^])*)'|"((?:[^"\\]|\\[^])*)"|`((?:[^`\\]|\\[^])*)`|\bqx?[{(/]([^})/]*)[})/]/g,
    (whole: string, ...groups: unknown[]) => {
      const text = groups.slice(0, 6).find((group): group is string => typeof group === 'string') ?? '';
      literals.push(unescape(text));
      return whole.startsWith('`') ? '``' : whole.startsWith('q') ? 'qx""' : '""';
    },
  );
  return { bare, literals };
}

function killsIn(call: Call, folded: string, bare: string): void {
  // In the code without literals, so that a kill in a string that is printed is none; its arguments are read there too.
  const places = [...bare.matchAll(kills)].slice(0, 64);
  const texts = [...folded.matchAll(kills)]
    .slice(0, 256)
    .map((match) => argumentsAt(folded, match.index + match[0].length));
  for (const match of places) {
    const given = argumentsAt(bare, match.index + match[0].length);
    const full = texts.find((text) => split(text).bare === given) ?? given;
    // The call by number has the signal's number of the call in front.
    judge(call, full);
  }
  for (const match of [...bare.matchAll(methods)].slice(0, 64)) judge(call, match[1] ?? '');
  // One by one out of all that run: by the names that are looked for, where there are any.
  if (/\bprocess_iter\b/.test(bare) && /\.\s*(?:kill|terminate|suspend|send_signal)\s*\(/.test(bare)) {
    const sought = split(folded).literals.filter((text) => /[A-Za-z]{3}/.test(text) && !fields.test(text));
    const other =
      sought.length > 0 && sought.every((text) => patternWidth(call.m, text, { full: true }) === 'none');
    call.m.hit(call.shell, other ? null : 'pattern_kill');
  }
  // Of any other object it only counts with a gateway's pid.
  for (const match of [...bare.matchAll(/\.kill(?:pg)?(?=\()|\bsignal-process\b/g)].slice(0, 64)) {
    const given = argumentsAt(bare, match.index + match[0].length);
    if ((given.match(/\d+/g) ?? []).some((pid) => call.m.known.pids.has(Number(pid)))) judge(call, given);
  }
}

/** What is asked of each process, not what is looked for. */
const fields = /^(?:pid|ppid|name|cmdline|exe|username|status|create_time|, ?)$/;

function argumentsAt(source: string, start: number): string {
  const rest = source.slice(start, start + 400);
  const open = /^\s*\(/.exec(rest)?.[0];
  if (open === undefined) return /^[^;\n)}]*/.exec(rest)?.[0] ?? '';
  let depth = 0;
  for (let at = open.length - 1; at < rest.length; at += 1) {
    if (rest[at] === '(') depth += 1;
    else if (rest[at] === ')' && --depth === 0) return rest.slice(open.length, at);
  }
  return rest.slice(open.length);
}

/** Pid and signal among the arguments, whatever their order. */
function judge({ m, shell }: Call, given: string): void {
  const parts = given.split(',').map((part) => part.trim().replace(/^["']|["']$/g, ''));
  const numbers = (given.replace(/["'][^"']*["']/g, '').match(/-?\b\d+\b/g) ?? []).map(Number);
  if (numbers.some((pid) => m.known.pids.has(Math.abs(pid)))) {
    if (
      parts.length > 1 &&
      parts.some((part) => /^(?:0|(?:signal\.)?(?:SIG)?(?:CONT|CHLD|WINCH|URG))$/.test(part))
    )
      return;
    return m.hit(shell, 'manual_daemon_kill');
  }
  if (
    parts.length > 1 &&
    parts.some(
      (part, at) => (at > 0 || !/^-?\d/.test(parts[1] ?? '')) && isHarmless(part) && !/^\d+$/.test(part),
    )
  )
    return;
  if (parts.length === 2 && parts[1] === '0') return;
  if (parts.some((part) => part === '-1')) return m.hit(shell, 'fleet_kill');
  if (
    /getpid|getpgrp|\bpid\b\s*$|process\.pid|\$\$|child|proc\./i.test(given) &&
    !/argv|input|read|open/i.test(given) &&
    numbers.length < 2 &&
    /getpid|getpgrp|process\.pid|\$\$/.test(given)
  )
    return m.hit(shell, null);
  // A literal pid that is no gateway's, with nothing that is computed.
  const computed = given.replace(/signal\.\w+|\bSIG\w+|["'][^"']*["']|int|\s/g, '');
  if (/^-?\d+(?:,-?\d*)*$|^,?-?\d+(?:,-?\d+)*$/.test(computed)) return m.hit(shell, null);
  m.hit(shell, 'indirect');
}

const commandName = /^(?:\S*\/)?(?:p?kill|killall|sudo|env|docker|podman|systemctl|fuser|(?:ba|da|z)?sh)$/;

/** Literals as shell text; those in a list are also the words of one command. */
function runLiterals({ m, shell, input }: Call, folded: string, literals: readonly string[]): void {
  for (const text of literals.slice(0, 64))
    if (/\s/.test(text.trim()) || literals.length === 1)
      m.text(interpolated(m.holes.unknown, text), childShell(shell, { external: false }), input);
  // `exec "kill", "4242"`
  if (literals.length > 1 && commandName.test(literals[0] ?? ''))
    m.exec(literals.slice(0, 64), shell, { rest: '' });
  for (const [, list = ''] of [...folded.matchAll(/[[(]([^[\]()]*)[\])]/g)].slice(0, 32)) {
    const words = split(list).literals;
    const numbers = list.replace(/["'][^"']*["']/g, '').match(/\b\d+\b/g) ?? [];
    if (words.length === 0) continue;
    const rest = /["']\s*,\s*[A-Za-z_]/.test(list) ? [m.holes.unknown] : [];
    m.exec([...words.slice(0, 1), ...words.slice(1), ...numbers, ...rest], shell, { rest: '' });
    // `spawn("kill", ["-9", "4242"])`: the name stands in front of the list.
    const before = /(["'])([\w/.-]+)\1\s*,\s*$/.exec(folded.slice(0, folded.indexOf(list) - 1))?.[2];
    if (before !== undefined) m.exec([before, ...words, ...numbers], shell, { rest: '' });
  }
}

/** `${x}`, `#{x}` and `%s` inside a literal are not known. */
function interpolated(unknown: string, text: string): string {
  return text.replace(/\$\{[^}]*\}|#\{[^}]*\}|%[sd]|(?<!\{)\{\w*\}/g, unknown);
}

/** Code that runs code: decoded payloads, and names that are put together. */
function evaluate(call: Call, bare: string, literals: readonly string[], language: string): void {
  const { m, shell } = call;
  const pids = (bare.match(/\b\d+\b/g) ?? []).some((pid) => m.known.pids.has(Number(pid)));
  for (const text of literals.slice(0, 32)) {
    if (pids && /^(?:kill|killpg|terminate)$/.test(text)) m.hit(shell, 'manual_daemon_kill');
    if (text.length > 5 && /\b(?:eval|exec|compile|Function|loadstring|load)\b/.test(bare))
      for (const inner of [text, ...decodings(text)]) {
        m.deeper(() => {
          runCode({ ...call, shell }, inner, language);
          return '';
        });
      }
    if (/b64|base64|atob|decode|fromhex|unhexlify/i.test(bare) && runners.test(bare))
      for (const inner of decodings(text))
        m.text(inner, childShell(shell, { external: false }), { rest: '' });
  }
}

function decodings(text: string): string[] {
  const found: string[] = [];
  if (/^[A-Za-z0-9+/_-]{8,}={0,2}$/.test(text)) found.push(fromBase64(text));
  if (/^(?:[0-9a-f]{2}){4,}$/i.test(text)) found.push(fromHex(text));
  return found.filter((one) => !/[\ufffd\p{Cc}]/u.test(one.replace(/[\n\t]/g, '')));
}

type Language = {
  /** Options that the program's text follows. */
  readonly code: RegExp;
  readonly name: string;
  /** Options with a value. */
  readonly values?: RegExp;
  /** False where an operand is no program. */
  readonly files?: boolean;
};

const languages: readonly (readonly [RegExp, Language])[] = [
  [/^(?:python|pypy)[\d.]*$/, { name: 'python', code: /^-[A-Za-z]*c$/, values: /^-[WX]$/ }],
  [/^perl[\d.]*$/, { name: 'perl', code: /^-[A-Za-z]*[eE]$/, values: /^-[IMm]$/ }],
  [/^ruby[\d.]*$/, { name: 'ruby', code: /^-[A-Za-z]*e$/, values: /^-[rI]$/ }],
  [
    /^(?:node|nodejs|bun|tsx|ts-node)$/,
    { name: 'node', code: /^(?:-[a-z]*[ep]|--eval|--print)$/, values: /^(?:-r|--require|--import|-C)$/ },
  ],
  [/^php[\d.]*$/, { name: 'php', code: /^-[rBRE]$/, values: /^-[dcz]$/ }],
  [/^lua(?:jit)?[\d.]*$/, { name: 'lua', code: /^-e$/, values: /^-l$/ }],
  [
    /^(?:Rscript|julia|elixir|guile|racket|groovy|osascript|tclsh|expect)$/,
    { name: 'other', code: /^(?:-e|-c|-E|--eval)$/ },
  ],
  [/^(?:pwsh|powershell)(?:\.exe)?$/, { name: 'other', code: /^-c(?:ommand)?$/i }],
  [/^emacs(?:client)?$/, { name: 'other', code: /^(?:--?(?:eval|execute)|-e)$/, files: false }],
];

/** An interpreter: its text option, a script, or standard input. False where the program is none. */
export function interpreter(call: Call, program: string): boolean {
  const language = languages.find(([name]) => name.test(program))?.[1];
  if (language === undefined) return false;
  const { args, input } = call;
  let found = false;
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at] ?? '';
    const joined = /^(?:--eval|--print|-e|-c|-r)=?([^]+)$/.exec(word);
    if (language.code.test(word)) {
      runCode(call, args[++at] ?? '', language.name);
      found = true;
      if (language.name === 'python') break;
    } else if (
      joined !== null &&
      language.code.test(/^(?:--\w+|-\w)/.exec(word)?.[0] ?? '') &&
      !word.startsWith('--require')
    ) {
      runCode(call, joined[1] ?? '', language.name);
      found = true;
    } else if (language.values?.test(word) === true) at += 1;
    else if (/^(?:--version|-V|-v|--help|-h|-m)$/.test(word)) {
      found = true;
      break;
    } else if (!word.startsWith('-')) {
      const text = call.m.files.get(word);
      if (language.files === false) continue;
      if (text === undefined) runFile(call, word, args.slice(at));
      else runCode(call, text, language.name);
      found = true;
      break;
    }
  }
  if (!found && language.files !== false) {
    const text = takeAll(input);
    if (isKnown(text) || /kill/.test(text)) runCode(call, fillHoles(text, ' x '), language.name);
  }
  return true;
}

/** deno eval, bun -e */
function deno(call: Call): string {
  if (call.args[0] === 'eval')
    runCode(call, call.args.filter((word) => !word.startsWith('-'))[1] ?? '', 'node');
  else if (call.args[0] === 'run')
    runFile(call, call.args.slice(1).find((word) => !word.startsWith('-')) ?? '', []);
  return '';
}

/** gdb and lldb: commands of the debugger on a process. */
function debuggerOf(call: Call): string {
  const { m, shell, args, input } = call;
  const attached = args.flatMap((word, at) =>
    /^(?:-p|--pid|-pid|--attach-pid)$/.test(args[at - 1] ?? '')
      ? [word]
      : (/^(?:--pid=|-p)(\d+)$/.exec(word)?.[1] ?? []),
  );
  const commands = args.filter((_word, at) =>
    /^(?:--?ex|--?eval-command|-o|--one-line|-O)$/.test(args[at - 1] ?? ''),
  );
  const operands = args.filter((word) => /^\d+$/.test(word));
  const joined = args.flatMap((word) => /^--?(?:ex|eval-command)=([^]+)$/.exec(word)?.[1] ?? []);
  const lines = [...commands, ...joined, ...(isKnown(input.rest) ? input.rest.split('\n') : [])].slice(0, 64);
  const pids = [
    ...attached,
    ...operands,
    ...lines.flatMap((line) => /^\s*(?:attach|process attach --pid)\s+(\S+)/.exec(line)?.[1] ?? []),
  ];
  for (const line of lines) {
    const text = /^\s*(?:shell|!|platform shell)\s*([^]+)$/.exec(line)?.[1];
    if (text !== undefined) m.text(text, childShell(shell, { indirect: true }), input);
    else if (
      /^\s*(?:k|kill|process kill|signal|process signal)\b|\b_?exit\s*\(|\b(?:abort|raise|kill)\s*\(/.test(
        line,
      ) &&
      !/\bsignal (?:0|SIGCONT)\b/.test(line)
    )
      m.exec(
        ['/bin/kill', ...(pids.length === 0 ? [m.holes.unknown] : pids)],
        childShell(shell, { indirect: true, external: true }),
        { rest: '' },
      );
  }
  if (args[0] === '--args') m.exec(args.slice(1), shell, input);
  return '';
}

export const codeVerbs: Verbs = { deno, ...all('gdb lldb', debuggerOf) };
