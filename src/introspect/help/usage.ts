/** Usage lines: which they are, the words of the program, and what they say about flags and subcommands. */
import type { Line } from './text.ts';

export type Usage = {
  /** One per way to call the tool, its lines joined. */
  readonly forms: readonly string[];
  /** Indexes of the forms that came with an explanation: examples rather than grammar. */
  readonly explained: ReadonlySet<number>;
  /** Flags in brackets below a heading. */
  readonly blocks: readonly string[];
  /** `NAME := …` of a grammar, by name. */
  readonly definitions: ReadonlyMap<string, string>;
  /** Indexes of the lines that were read. */
  readonly taken: ReadonlySet<number>;
};

const maxForms = 200;
const maxForm = 8000;

export function findUsage(lines: readonly Line[]): Usage {
  const gatherer = new Gatherer(lines);
  for (let index = 0; index < lines.length; index++) {
    const { text } = lines[index]!;
    if (text === '' || gatherer.taken.has(index)) continue;
    const lead = /^usage(?: is)?\s*:\s*/i.exec(text);
    if (lead) index = gatherer.read(index, text.slice(lead[0].length), lead[0].length);
    else if (isBracketed(text) && /\b(?:options|flags):$/i.test(lines[index - 1]?.text ?? ''))
      index = gatherer.readBlock(index);
    else if (isUsageHeading(text)) index = gatherer.read(index, '', 0);
  }
  if (gatherer.forms.length === 0) gatherer.readBare();
  return gatherer;
}

/** npm writes its flags as a usage has them, below a heading: `[-g|--global] [--omit <dev|optional>]`. */
function isBracketed(text: string): boolean {
  return /^\[-{1,2}[A-Za-z]/.test(text) && !text.includes('  ');
}

function isUsageHeading(text: string): boolean {
  return /^(?:usage|synopsis)$/i.test(text) || (/^.{0,80}[.)] Usage:$/.test(text) && !text.includes('  '));
}

class Gatherer implements Usage {
  readonly forms: string[] = [];
  readonly explained = new Set<number>();
  readonly blocks: string[] = [];
  readonly definitions = new Map<string, string>();
  readonly taken = new Set<number>();
  readonly #lines: readonly Line[];
  #program: string | null = null;
  #definition: string | null = null;

  constructor(lines: readonly Line[]) {
    this.#lines = lines;
  }

  /** Reads from the line at `from`, whose usage begins with `first`; the index of the last line that was read. */
  read(from: number, first: string, offset: number): number {
    this.#definition = null;
    this.taken.add(from);
    const base = this.#lines[from]!.indent;
    let formIndent = first === '' ? null : base + offset;
    if (first !== '') this.#begin(first);
    let index = from + 1;
    for (; index < this.#lines.length; index++) {
      const { indent, text } = this.#lines[index]!;
      if (text === '') {
        if (formIndent !== null && !this.#goesOn(index + 1, base)) break;
        continue;
      }
      const other = /^or:?\s+(?=\S)/.exec(text);
      const start = other ? text.slice(other[0].length) : text.replace(/^\$ /, '');
      const again = other !== null || formIndent === null || this.#isProgram(start);
      if (!this.#continues(again, indent, base, text)) break;
      if (again && !text.includes(':=')) {
        this.#begin(start);
        formIndent ??= indent;
      } else this.#continue(text);
      this.taken.add(index);
    }
    return index - 1;
  }

  /** Reads brackets with flags up to the next empty line. */
  readBlock(from: number): number {
    let index = from;
    let block = '';
    for (; index < this.#lines.length && this.#lines[index]!.text !== ''; index++) {
      if (block.length < maxForm) block += `${this.#lines[index]!.text} `;
      this.taken.add(index);
    }
    this.blocks.push(block);
    return index - 1;
  }

  /** A first line that is a usage without the word: `systemctl [OPTIONS...] COMMAND ...`. */
  readBare(): void {
    const index = this.#lines.findIndex(({ text }) => text !== '');
    const text = this.#lines[index]?.text ?? '';
    if (!/^[a-z][\w.-]{0,40}(?: [a-z][\w-]{0,40}){0,3} (?:[[<{]|[A-Z]{2})/.test(text) || text.includes(': '))
      return;
    this.read(index, text, 0);
  }

  /** Whether a further form, indented and beginning with the program, follows behind empty lines. */
  #goesOn(from: number, base: number): boolean {
    let next = from;
    while (next < this.#lines.length && next < from + 3 && this.#lines[next]!.text === '') next++;
    const line = this.#lines[next];
    return line !== undefined && line.indent > base && this.#isProgram(line.text);
  }

  #continues(again: boolean, indent: number, base: number, text: string): boolean {
    // In a grammar flags are alternatives; elsewhere a dash begins the list of flags.
    if (text.startsWith('-')) return this.#definition !== null;
    return again || indent > base || text.includes(':=');
  }

  #isProgram(text: string): boolean {
    return this.#program !== null && (text === this.#program || text.startsWith(`${this.#program} `));
  }

  #begin(text: string): void {
    this.#definition = null;
    this.#program ??= text.split(' ', 1)[0]!;
    const { form, remark } = partRemark(text);
    if (remark) this.explained.add(this.forms.length);
    if (this.forms.length < maxForms) this.forms.push(form);
  }

  #continue(text: string): void {
    const defined = /^(?:where\s+)?([A-Z][A-Z_-]*)\s*:=\s*(.*)$/.exec(text);
    if (defined) {
      this.#definition = defined[1]!;
      this.definitions.set(this.#definition, defined[2]!);
    } else if (this.#definition !== null) {
      const before = this.definitions.get(this.#definition) ?? '';
      if (before.length < maxForm) this.definitions.set(this.#definition, `${before} ${text}`);
    } else if (this.forms.length > 0) {
      const before = this.forms.at(-1)!;
      if (before.length < maxForm) this.forms[this.forms.length - 1] = `${before} ${text}`;
    }
  }
}

/** `npm install   install all the dependencies`: what stands behind the gap explains. */
function partRemark(text: string): { readonly form: string; readonly remark: boolean } {
  const gap = text.search(/\S {2,}[A-Za-z]/);
  const rest = gap < 0 ? '' : text.slice(gap + 1).trim();
  const remark = /^[A-Za-z][\w'-]* [a-z<'"]/.test(rest);
  return { form: remark ? text.slice(0, gap + 1) : text, remark };
}
