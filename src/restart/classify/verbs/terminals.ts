/** Terminals and editors through which text is typed or a shell is run. */
import { isKnown } from '../holes.ts';
import { childShell } from '../machine.ts';
import { readOptions } from '../options.ts';
import type { Verb } from './call.ts';

export const tmux: Verb = ({ m, shell, args }) => {
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

export const screen: Verb = ({ m, shell, args }) => {
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
export const editor: Verb = ({ m, shell, args, input }) => {
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
