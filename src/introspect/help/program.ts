/** The program's name where no usage tells it: the word that every line of a list of commands begins with. */
import { sectionOf } from './heading.ts';
import type { Line } from './text.ts';

const minLines = 2;

export function programOfList(lines: readonly Line[]): string | null {
  for (let index = 0; index < lines.length; index++) {
    const { indent, text } = lines[index]!;
    if (!text.endsWith(':') || text.length > 80 || sectionOf(text.slice(0, -1)) !== 'commands') continue;
    const words = new Set<string>();
    let count = 0;
    for (
      let at = index + 1;
      at < lines.length && lines[at]!.text !== '' && lines[at]!.indent > indent;
      at++
    ) {
      index = at;
      count++;
      words.add(lines[at]!.text.split(' ', 1)[0]!);
    }
    const [word] = words;
    if (count >= minLines && words.size === 1 && word !== undefined && !word.startsWith('-')) return word;
  }
  return null;
}
