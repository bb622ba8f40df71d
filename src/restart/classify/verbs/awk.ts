/** awk: which lines it lets through, what it prints, and what it gives to a shell. */
import { isKnown } from '../holes.ts';
import { childShell } from '../machine.ts';
import { readOptions, valueOf } from '../options.ts';
import type { Call } from './call.ts';
import { unescape } from './decode.ts';
import { inputOf, narrowed } from './lines.ts';

const longestProgram = 4096;

export function awk(call: Call): string {
  const { m, shell } = call;
  const options = readOptions(call.args, {
    values: 'Fvf',
    long: ['field-separator', 'assign', 'file', 'source'],
  });
  const [program = '', ...files] = options.rest;
  if (program.length > longestProgram) {
    m.incomplete = true;
    return m.holes.unknown;
  }
  const onlyBegin = /^\s*BEGIN\s*\{/.test(program);
  let text = onlyBegin ? '' : inputOf(call, files);
  for (const { pattern, invert } of conditions(program))
    text = narrowed(call, text, pattern, { invert, anyCase: false });
  const out = printed(call, program, text, valueOf(options, 'F', 'field-separator'));
  const vars = constants(program, options.flags.get('v') ?? options.flags.get('assign') ?? []);
  for (const line of shellLines(program)) runLine(call, line, text, vars);
  if (/\|\s*"(?:ba|da|z)?sh"/.test(program)) m.text(out, childShell(shell, { indirect: true }), { rest: '' });
  return out;
}

/** `/re/`, `!/re/`, `$0 ~ /re/`, `$N == "text"` in front of an action. */
function conditions(program: string): { pattern: string; invert: boolean }[] {
  const found: { pattern: string; invert: boolean }[] = [];
  for (const match of program.matchAll(/(!~?\s*)?\/((?:[^/\\]|\\.)+)\/|\$\d+\s*==\s*"([^"]*)"/g)) {
    const [, not, expression, exact] = match;
    if (found.length > 8) break;
    found.push({
      pattern: expression ?? (exact ?? '').replace(/[\^$\\.*+?()[\]{}|]/g, '\\$&'),
      invert: not !== undefined,
    });
  }
  return found;
}

type Token = { readonly text: string } | { readonly field: number } | { readonly comma: true };

/** Variables that are given a literal, by `-v` or in the program. */
function constants(program: string, given: readonly string[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const one of given) {
    const [, name, value] = /^([A-Za-z_]\w*)=([^]*)$/.exec(one) ?? [];
    if (name !== undefined) found.set(name, unescape(value ?? ''));
  }
  for (const [, name = '', text, number] of program.matchAll(
    /\b([A-Za-z_]\w*)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|(\d+))(?=\s*[;}\n])/g,
  ))
    found.set(name, text === undefined ? (number ?? '') : unescape(text));
  return found;
}

/** `name` gives what is known of a word that is neither text nor a field; '' where it is left out. */
function tokens(expressions: string, name: (word: string) => string = () => ''): Token[] {
  const list: Token[] = [];
  for (const [, text, field, comma, other] of expressions.matchAll(
    /"((?:[^"\\]|\\.)*)"|\$(\d+|NF)|(,)|([^\s"$,]+)/g,
  ))
    list.push(
      text !== undefined
        ? { text: unescape(text) }
        : field !== undefined
          ? { field: Number(field) || 1 }
          : comma !== undefined
            ? { comma: true }
            : { text: other === undefined ? '' : name(other) },
    );
  return list;
}

/** What `print` makes of each line. */
function printed({ m }: Call, program: string, text: string, separator: string | undefined): string {
  const prints = [...program.matchAll(/printf?\s*\(?([^;}|>]*)/g)].map((match) => match[1] ?? '');
  if (prints.length === 0) return /\{/.test(program) ? '' : text;
  const lines = /^\s*BEGIN/.test(program)
    ? ['']
    : isKnown(text)
      ? text
          .split('\n')
          .filter((line) => line !== '')
          .slice(0, 200)
      : [m.blurred(text)];
  let out = '';
  for (const line of lines)
    for (const expressions of prints) out += `${show(tokens(expressions), line, isKnown(line), separator)}\n`;
  return m.bounded(out);
}

function show(list: readonly Token[], line: string, known: boolean, separator: string | undefined): string {
  if (list.length === 0) return line;
  const fields = known ? (separator === undefined ? line.trim().split(/\s+/) : line.split(separator)) : [];
  return list
    .map((token) => {
      if ('text' in token) return token.text;
      if ('comma' in token) return ' ';
      return !known || token.field === 0 ? line : (fields[token.field - 1] ?? '');
    })
    .join('');
}

/** Arguments of `system( )` and of pipes to and from commands. */
function shellLines(program: string): string[] {
  const systems = [...program.matchAll(/system\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)/g)].map(
    (match) => match[1] ?? '',
  );
  const pipes = [...program.matchAll(/("(?:[^"\\]|\\.)*")\s*\|\s*getline/g)].map((match) => match[1] ?? '');
  return [...systems, ...pipes].slice(0, 16);
}

function runLine(
  { m, shell }: Call,
  expressions: string,
  text: string,
  vars: ReadonlyMap<string, string>,
): void {
  const word = (one: string): string =>
    /^\d+$/.test(one) ? one : /^[A-Za-z_]\w*$/.test(one) ? (vars.get(one) ?? m.holes.unknown) : '';
  const list = tokens(expressions, word);
  const known = isKnown(text);
  const line = known ? (text.split('\n')[0] ?? '') : m.blurred(text);
  const made = show(list, line, known && line !== '', undefined);
  m.text(
    known && line === '' ? show(list, m.holes.unknown, false, undefined) : made,
    childShell(shell, { indirect: true }),
    { rest: '' },
  );
}
