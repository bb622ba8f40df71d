/** Words to fields: quoting, parameters, substitutions, arithmetic, braces, field splitting. */
import {
  forEachChild,
  parse,
  type ArithmeticExpression,
  type ParsedScript,
  type Word,
  type WordPart,
} from 'unbash';
import { evaluate } from './arithmetic.ts';
import { expandBraces } from './braces.ts';
import { isKnown } from './holes.ts';
import type { Input, Machine, Shell } from './machine.ts';
import { expandParameter, lookUp } from './parameter.ts';

/** What expansion needs of the walker. */
export type Scripts = (script: ParsedScript, shell: Shell, input: Input) => string;

/** A piece of a word; what is not quoted is split at blanks, `list` begins a field with each value. */
type Piece = { readonly text: string; readonly split: boolean; readonly list?: readonly string[] };

const mostFields = 4096;

function separators(shell: Shell): RegExp {
  const own = shell.vars.get('IFS')?.[0];
  if (own === undefined || !isKnown(own)) return /[ \t\n]+/;
  return own === '' ? /(?!)/ : new RegExp(`[${own.slice(0, 16).replace(/[\\\]^-]/g, '\\$&')}]+`);
}

export class Expander {
  readonly #m: Machine;
  readonly #scripts: Scripts;

  constructor(m: Machine, scripts: Scripts) {
    this.#m = m;
    this.#scripts = scripts;
  }

  /** All fields of the words of a command. */
  fields(words: readonly Word[], shell: Shell): string[] {
    const fields: string[] = [];
    for (const word of words) {
      for (const one of this.#braced(word))
        fields.push(...this.#split(this.#pieces(one, shell), separators(shell)));
      if (fields.length > mostFields) {
        this.#m.incomplete = true;
        return fields.slice(0, mostFields);
      }
    }
    return fields;
  }

  /** One word without field splitting: the value of an assignment, the target of a redirection. */
  text(word: Word | undefined, shell: Shell): string {
    if (word === undefined) return '';
    const texts = this.#pieces(word, shell).map(({ text, list }) => list?.join(' ') ?? text);
    return this.#m.bounded(texts.join(''));
  }

  /** Text of a here-document's body. */
  parts(parts: readonly WordPart[], shell: Shell): string {
    const texts = parts.flatMap((part) => this.#piece(part, shell, true));
    return this.#m.bounded(texts.map(({ text, list }) => list?.join(' ') ?? text).join(''));
  }

  /** Runs the substitutions inside an arithmetic expression. */
  arithmetic(expression: ArithmeticExpression | undefined, shell: Shell): void {
    if (expression === undefined || !this.#m.charge(1)) return;
    forEachChild(expression, (child) => {
      if (child.type === 'Script') this.#run(child, shell, { rest: '' });
      else if (child.type === 'CommandExpansion') this.#piece(child, shell, true);
      else if (child.type.startsWith('Arithmetic')) this.arithmetic(child as ArithmeticExpression, shell);
    });
  }

  #braced(word: Word): Word[] {
    if (word.parts?.some((part) => part.type === 'BraceExpansion') !== true) return [word];
    const texts = expandBraces(word.text);
    if (texts === null) this.#m.incomplete = true;
    return (texts ?? []).flatMap((text) => {
      if (!this.#m.charge(1)) return [];
      const statement = parse(`: ${text}`).commands[0]?.command;
      const made = statement?.type === 'Command' ? statement.suffix[0] : undefined;
      return made?.type === 'Word' ? [made] : [];
    });
  }

  #pieces(word: Word, shell: Shell): Piece[] {
    if (word.parts === undefined) return [{ text: word.value, split: false }];
    return word.parts.flatMap((part) => this.#piece(part, shell, false));
  }

  #piece(part: WordPart, shell: Shell, quoted: boolean): Piece[] {
    switch (part.type) {
      case 'Literal':
      case 'SingleQuoted':
      case 'AnsiCQuoted':
      case 'Glob':
        return [{ text: part.value, split: false }];
      case 'DoubleQuoted':
      case 'LocaleString': {
        const inner = part.parts.flatMap((child) => this.#piece(child, shell, true));
        return inner.length === 0 ? [{ text: '', split: false }] : inner;
      }
      case 'SimpleExpansion': {
        const name = part.text.slice(1);
        return this.#values(lookUp(this.#m, shell, name) ?? [this.#m.holes.unknown], name, quoted);
      }
      case 'ParameterExpansion': {
        const toText = (word: Word) => this.text(word, shell);
        const values = expandParameter(this.#m, shell, part, toText);
        const index = part.index === undefined ? part.parameter : toText(part.index);
        return this.#values(values, index, quoted);
      }
      case 'CommandExpansion': {
        const out = this.#run(part.script, shell, { rest: this.#m.holes.unknown });
        return [{ text: out.replace(/\n+$/, ''), split: !quoted }];
      }
      case 'ArithmeticExpansion': {
        this.arithmetic(part.expression, shell);
        const value = evaluate(part.expression, (name) => {
          const text = lookUp(this.#m, shell, name)?.[0];
          return text !== undefined && isKnown(text) ? text : null;
        });
        return [{ text: value === null ? this.#m.holes.unknown : String(value), split: false }];
      }
      case 'ProcessSubstitution': {
        const name = `/dev/fd/substitution-${this.#m.files.size}`;
        const out = this.#run(part.script, shell, { rest: this.#m.holes.unknown });
        if (part.operator === '<') this.#m.files.set(name, out);
        return [{ text: name, split: false }];
      }
      case 'ExtendedGlob':
      case 'BraceExpansion':
        return [{ text: part.text, split: false }];
    }
  }

  #values(values: readonly string[], name: string, quoted: boolean): Piece[] {
    if (name === '@' || (name === '*' && !quoted)) return [{ text: '', split: !quoted, list: values }];
    return [{ text: values.join(' '), split: !quoted }];
  }

  #run(script: ParsedScript | undefined, shell: Shell, input: Input): string {
    return script === undefined ? '' : this.#m.deeper(() => this.#scripts(script, shell, input));
  }

  #split(pieces: readonly Piece[], blanks: RegExp): string[] {
    const fields: string[] = [];
    let current: string | null = null;
    const add = (text: string): void => {
      current = (current ?? '') + text;
    };
    const close = (): void => {
      if (current !== null) fields.push(this.#m.bounded(current));
      current = null;
    };
    for (const piece of pieces)
      for (const [index, text] of (piece.list ?? [piece.text]).entries()) {
        if (index > 0) close();
        if (!piece.split) {
          add(text);
          continue;
        }
        const words = text.split(blanks);
        for (const [at, word] of words.entries()) {
          if (at > 0) close();
          if (word !== '') add(word);
        }
      }
    close();
    return fields;
  }
}
