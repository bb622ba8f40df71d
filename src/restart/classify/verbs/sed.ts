/** sed, and the basic regular expressions that it shares with grep. */
import { has, readOptions } from '../options.ts';
import type { Call, Verb } from './call.ts';
import { inputOf, narrowed } from './lines.ts';

/** Basic regular expressions have their operators escaped. */
export function basic(pattern: string, extended: boolean): string {
  return extended
    ? pattern
    : pattern.replace(
        /\\([|+?(){}])|([|+?(){}])/g,
        (_whole, operator?: string, plain?: string) => operator ?? `\\${plain ?? ''}`,
      );
}

/** sed: `s/a/b/` with what needs no search back, `/re/` with -n, and the command e. */
export const sed: Verb = (call) => {
  const { m } = call;
  const options = readOptions(call.args, {
    values: 'efl',
    attached: 'i',
    long: ['expression', 'file', 'line-length'],
    mixed: true,
  });
  const given = [...(options.flags.get('e') ?? []), ...(options.flags.get('expression') ?? [])];
  const [script = '', ...files] = given.length === 0 ? options.rest : [given.join(';'), ...options.rest];
  const shellText = /(?:^|[;\d$])\s*e\s+([^]+)$/.exec(script)?.[1];
  if (shellText !== undefined) m.text(shellText, { ...call.shell, indirect: true }, { rest: '' });
  const text = inputOf(call, files);
  const only = /^\/([^/]*)\/(I?)(p|!?d|s)/.exec(script);
  if (only !== null)
    return narrowed(call, text, basic(only[1] ?? '', has(options, 'E', 'r')), {
      invert: only[3] === 'd',
      anyCase: only[2] === 'I',
    });
  return substitute(call, text, script, has(options, 'E', 'r', 'regexp-extended'));
};

function substitute({ m }: Call, text: string, script: string, extended: boolean): string {
  const [, by, pattern = '', replacement = '', flags = ''] =
    /^s(.)((?:(?!\1).)*)\1((?:(?!\1).)*)\1([gipe]*)$/su.exec(script) ?? [];
  const source = basic(pattern, extended);
  // With more than one repetition a search could take long.
  if (
    by === undefined ||
    text.length > 4096 ||
    (source.match(/[*+{]/g) ?? []).length > 1 ||
    /\\[1-9]/.test(source)
  )
    return m.blurred(text);
  try {
    const expression = new RegExp(source, flags.includes('g') ? 'gm' : 'm');
    const made = replacement
      .replace(/\$/g, '$$$$')
      .replace(/\\&/g, '\0')
      .replace(/&/g, '$$&')
      .replaceAll('\0', '&')
      .replace(/\\([1-9])/g, '$$$1');
    return text
      .split('\n')
      .map((line, at, list) => (line === '' && at === list.length - 1 ? '' : line.replace(expression, made)))
      .join('\n');
  } catch (error) {
    if (error instanceof SyntaxError) return m.blurred(text);
    throw error;
  }
}
