/** Command lines of the engine's client, read as it reads them. */

export type Shape = {
  /** Long options that take no next word. */
  readonly switches: ReadonlySet<string>;
  readonly valued: ReadonlySet<string>;
  /** Letter to long option. */
  readonly short: Readonly<Record<string, string>>;
  /** The first word without an option ends the options. */
  readonly ends: boolean;
};

export type Option = {
  readonly kind: 'option';
  readonly name: string;
  /** "true" for a switch without a value; null: the value is missing. */
  readonly value: string | null;
  /** Word that names it. */
  readonly index: number;
  /** Word that holds the value; the same for `--name=value`. */
  readonly valueIndex: number;
};
export type Word = { readonly kind: 'word' | 'unknown'; readonly index: number };
export type Part = Option | Word;

export function readOptions(words: readonly string[], shape: Shape): readonly Part[] {
  const parts: Part[] = [];
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] as string;
    if (word === '--' || !word.startsWith('-') || word === '-') {
      const at = word === '--' ? index + 1 : index;
      if (shape.ends || word === '--') {
        parts.push({ kind: 'word', index: Math.min(at, words.length - 1) });
        return parts;
      }
      parts.push({ kind: 'word', index });
      continue;
    }
    const read = word.startsWith('--') ? long(word, index, words, shape) : cluster(word, index, words, shape);
    parts.push(...read);
    const last = read.at(-1);
    if (last?.kind === 'option' && last.value !== null) index = Math.max(index, last.valueIndex);
  }
  return parts;
}

function long(word: string, index: number, words: readonly string[], shape: Shape): Part[] {
  const equals = word.indexOf('=');
  const name = word.slice(2, equals === -1 ? undefined : equals);
  if (!shape.switches.has(name) && !shape.valued.has(name)) return [{ kind: 'unknown', index }];
  if (equals !== -1) return [option(name, word.slice(equals + 1), index, index)];
  if (shape.switches.has(name)) return [option(name, 'true', index, index)];
  return [option(name, words[index + 1] ?? null, index, index + 1)];
}

/** `-it`, `-v/:/h`, `-v=/:/h`, `-itv/:/h`. */
function cluster(word: string, index: number, words: readonly string[], shape: Shape): Part[] {
  const parts: Part[] = [];
  for (let at = 1; at < word.length; at += 1) {
    const name = shape.short[word[at] as string];
    if (name === undefined) return [...parts, { kind: 'unknown', index }];
    const rest = word.slice(at + 1);
    if (shape.switches.has(name) && !rest.startsWith('=')) {
      parts.push(option(name, 'true', index, index));
      continue;
    }
    if (rest !== '') return [...parts, option(name, rest.replace(/^=/, ''), index, index)];
    return [...parts, option(name, words[index + 1] ?? null, index, index + 1)];
  }
  return parts;
}

function option(name: string, value: string | null, index: number, valueIndex: number): Option {
  return { kind: 'option', name, value, index, valueIndex };
}

/** False for the words that Go reads as false. */
export function isOn(value: string): boolean {
  return !['0', 'f', 'F', 'false', 'False', 'FALSE'].includes(value);
}
