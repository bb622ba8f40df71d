/** The pass over a text's lines: which section a line is in, and which entry it belongs to. */
import { isCommandName, scanCommand, scanList } from './command-line.ts';
import { scanFlag } from './flag-line.ts';
import { isHeading, sectionOf, type Section } from './heading.ts';
import type { Line } from './text.ts';
import type { FlagEntry } from './types.ts';
import type { UsageFacts } from './usage-read.ts';

type Entry =
  | { readonly kind: 'flag'; readonly indent: number; readonly flag: OpenFlag }
  | { readonly kind: 'command'; readonly indent: number; readonly name: string };

type OpenFlag = { names: readonly string[]; value: FlagEntry['value']; description: string };

const maxEntries = 5000;
const maxDescription = 2000;
/** A continuation stands at least so far behind its entry. */
const minHang = 4;

/** Thor puts flags in brackets, since they can be left out: `-v, [--verbose]`. Columns stay. */
function withoutOptionalMarks(text: string): string {
  if (!/^(?:-\w, )?\[--[^\][ ]+\](?:, \[--[^\][ ]+\])*(?: {2}|$)/.test(text)) return text;
  return text.replace(/\[(--[a-z][^\][ ]*)\]/g, '$1').replace(/^(\S+(?:, \S+)*) /, '$1   ');
}

export class Reader {
  readonly #facts: UsageFacts;
  readonly #secondColumn: number | null;
  readonly #flags: OpenFlag[] = [];
  readonly #commands = new Map<string, string>();
  #section: Section = 'other';
  #entry: Entry | null = null;
  /** Column at which the descriptions of the current list begin. */
  #column: number | null = null;
  /** The same, where an entry had its description on its own line. */
  #inline: number | null = null;
  #before: 'blank' | 'heading' | 'entry' | 'prose' = 'blank';
  #proseIndent = 0;
  #prose = '';
  #list: 'commas' | 'grid' | null = null;

  constructor(facts: UsageFacts, secondColumn: number | null) {
    this.#facts = facts;
    this.#secondColumn = secondColumn;
  }

  flags(): readonly FlagEntry[] {
    return this.#flags;
  }

  commands(): Map<string, string> {
    return this.#commands;
  }

  take(lines: readonly Line[], index: number): void {
    const line = lines[index]!;
    if (line.text === '') {
      this.#before = 'blank';
      return;
    }
    if (this.#continues(line) || this.#takeFlag(line)) return;
    const next = lines[index + 1];
    if (this.#isSibling(line) && this.#takeCommand(line, next)) return;
    if (this.#takeHeading(lines, index) || this.#takeCommand(line, next)) return;
    if (this.#describes(line)) return;
    this.#prose = this.#before === 'prose' ? `${this.#prose.slice(-200)} ${line.text}` : line.text;
    // With a gap in it, it is an entry of some other kind.
    const sentence = !line.text.includes('  ');
    if (!sentence && this.#entry !== null && line.indent <= this.#entry.indent) this.#entry = null;
    this.#before = sentence ? 'prose' : 'entry';
    this.#proseIndent = line.indent;
  }

  /** A further line of the description of the entry before. */
  #continues({ indent, text }: Line): boolean {
    const entry = this.#entry;
    if (entry === null) return false;
    // Right below its name a description needs no more than an indent of its own.
    const below = this.#before === 'entry' && this.#isBare(entry) && !text.startsWith('-');
    if (indent < entry.indent + (below ? 2 : minHang)) return false;
    if (this.#column === null || this.#column > indent) {
      if (this.#before !== 'entry' || text.startsWith('-') || (this.#column !== null && !this.#isBare(entry)))
        return false;
      this.#column = indent;
    }
    this.#append(entry, text);
    return true;
  }

  /** In a list of commands, at the indent of the one before: the next of them rather than a heading. */
  #isSibling({ indent, text }: Line): boolean {
    const same = this.#entry?.kind === 'command' && this.#entry.indent === indent;
    return this.#section === 'commands' && same && !text.endsWith(':');
  }

  #isBare(entry: Entry): boolean {
    return entry.kind === 'flag' ? entry.flag.description === '' : this.#commands.get(entry.name) === '';
  }

  #append(entry: Entry, text: string): void {
    if (entry.kind === 'flag') {
      const { flag } = entry;
      if (flag.description.length < maxDescription)
        flag.description = flag.description === '' ? text : `${flag.description} ${text}`;
    } else if (this.#commands.get(entry.name) === '') this.#commands.set(entry.name, text);
  }

  /** tsc writes the description below the name, at the same indent. */
  #describes({ indent, text }: Line): boolean {
    const entry = this.#entry;
    if (entry?.kind !== 'flag' || this.#before !== 'entry' || indent !== entry.indent) return false;
    this.#append(entry, text);
    return true;
  }

  #takeFlag({ indent, text: written }: Line): boolean {
    const text = withoutOptionalMarks(written);
    if (!text.startsWith('-') || this.#section === 'examples') return false;
    if (/^--?(?: {2}|$)/.test(text)) {
      // The terminator, or standard input: in the list, but no flag.
      this.#entry = null;
      this.#before = 'entry';
      return true;
    }
    const split = this.#secondColumn === null ? -1 : this.#secondColumn - indent;
    const twice = split > 0 && text[split] === '-' && text[split - 1] === ' ';
    const offset = this.#inline === null || twice ? null : this.#inline - indent;
    const first = scanFlag(twice ? text.slice(0, split).trimEnd() : text, offset);
    if (first === null) return false;
    // A sentence that was wrapped before a flag's name has no gap behind it.
    const gap = first.at !== null && text.startsWith('  ', first.at - 2);
    if (this.#before === 'prose' && this.#proseIndent === indent && !gap) return false;
    this.#addFlag(first, indent);
    if (first.at !== null) this.#column = indent + first.at;
    if (first.at !== null && gap) this.#inline = indent + first.at;
    if (twice) {
      const second = scanFlag(text.slice(split), null);
      if (second !== null) this.#addFlag(second, indent);
    }
    this.#before = 'entry';
    this.#list = null;
    return true;
  }

  #addFlag({ names, value, description }: FlagEntry, indent: number): void {
    const flag = { names, value, description };
    if (names.length > 0 && this.#flags.length < maxEntries) this.#flags.push(flag);
    this.#entry = { kind: 'flag', indent, flag };
  }

  #takeHeading(lines: readonly Line[], index: number): boolean {
    const { indent, text } = lines[index]!;
    if (this.#list !== null && scanList(text, this.#list) !== null && indent > 0) return false;
    const afterBlank = this.#before === 'blank';
    let after = index + 1;
    while (after < lines.length && after < index + 4 && lines[after]!.text === '') after++;
    const found = lines[after];
    const next = found && found.text !== '' ? { ...found, apart: after > index + 1 } : null;
    if (!isHeading(text, { indent, afterBlank, next })) return false;
    // The end of a sentence: "The build flags are shared by build, clean, / and test commands:" is about flags.
    const lead = this.#before === 'prose' ? this.#prose : '';
    const section = sectionOf(text.replace(/:$/, ''));
    const flags = section === 'commands' && sectionOf(`${lead} ${text}`) === 'flags';
    this.#section = flags ? 'flags' : section;
    this.#entry = null;
    this.#column = this.#inline = null;
    this.#list = null;
    this.#before = 'heading';
    return true;
  }

  #takeCommand({ indent, text }: Line, next: Line | undefined): boolean {
    const section = this.#section;
    if (section === 'positional') return this.#takeChoice(indent, text);
    const certain = section === 'commands';
    if (!certain && !(section === 'other' && this.#facts.takesCommand && indent > 0)) return false;
    const list = certain ? scanList(text, this.#list) : null;
    if (list !== null) {
      this.#list = list.kind;
      for (const name of list.names) this.#addCommand(name, '');
      this.#before = 'entry';
      return true;
    }
    const column = this.#inline === null ? null : this.#inline - indent;
    const found = scanCommand(text, this.#facts.program, column);
    // A single letter with an explanation is a key to press.
    if (found === null || (found.name.length < 2 && !this.#facts.takesCommand)) return false;
    if (found.at === null && !(certain && this.#standsAlone(indent, next))) return false;
    this.#addCommand(found.name, found.description);
    this.#entry = { kind: 'command', indent, name: found.name };
    if (found.at !== null) this.#column = this.#inline = indent + found.at;
    this.#before = 'entry';
    return true;
  }

  /** Whether a bare name is an entry: not where a sentence goes on below it. */
  #standsAlone(indent: number, next: Line | undefined): boolean {
    if (this.#before === 'prose') return false;
    // At another indent than the commands before, it is the name of a group.
    if (this.#entry?.kind === 'command' && this.#entry.indent !== indent) return false;
    if (next === undefined || next.text === '' || next.indent !== indent) return true;
    return next.text.startsWith('-') || scanCommand(next.text, this.#facts.program, null) !== null;
  }

  /** argparse lists subcommands below `{a,b}` among the positional arguments. */
  #takeChoice(indent: number, text: string): boolean {
    const braces = /^\{([^{}]{1,2000})\}/.exec(text);
    if (braces) {
      const names = braces[1]!.split(',').filter(isCommandName);
      const { choices, takesCommand } = this.#facts;
      if (takesCommand || names.some((name) => choices.has(name)))
        for (const name of names) this.#addCommand(name, '');
      this.#before = 'entry';
      return true;
    }
    if (/^(?:<?(?:sub)?command>?|COMMAND)$/i.test(text)) {
      this.#section = 'commands';
      this.#before = 'heading';
      return true;
    }
    const found = scanCommand(text, [], null);
    if (found === null || !(this.#facts.choices.has(found.name) || this.#commands.has(found.name)))
      return false;
    this.#commands.set(found.name, found.description);
    this.#entry = { kind: 'command', indent, name: found.name };
    if (found.at !== null) this.#column = indent + found.at;
    this.#before = 'entry';
    return true;
  }

  #addCommand(name: string, description: string): void {
    const known = this.#commands.get(name);
    if (known === undefined ? this.#commands.size < maxEntries : known === '')
      this.#commands.set(name, description);
  }
}
