/**
 * Reads JSON with comments as the Dev Containers CLI does: whatever is wrong, it goes on and takes what it can make out.
 * What it would take is what counts; every fault is reported beside it.
 */

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export type Read = {
  /** undefined: there is no value at all. Objects have no prototype: `__proto__` is a key like others. */
  readonly value: Json | undefined;
  /** What makes the text not valid JSONC (a comma before a closing bracket is valid), first one first. */
  readonly faults: readonly string[];
  readonly duplicates: readonly string[];
};

type Kind = '{' | '}' | '[' | ']' | ',' | ':' | 'string' | 'literal' | 'end';
type Token = { readonly kind: Kind; readonly value: Json; readonly at: number };

/** Deeper values are skipped over, as a fault: a reader's own stack ends somewhere. */
const deepest = 500;
const mostFaults = 20;

const escapes: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

export function readJsonc(text: string): Read {
  const reader = new Reader(text);
  const value = reader.document();
  return { value, faults: reader.faults, duplicates: reader.duplicates };
}

class Reader {
  readonly faults: string[] = [];
  readonly duplicates: string[] = [];
  readonly #text: string;
  #at = 0;
  #token: Token = { kind: 'end', value: null, at: 0 };

  constructor(text: string) {
    this.#text = text;
  }

  document(): Json | undefined {
    this.#next();
    if (this.#token.kind === 'end') {
      this.#fault('there is no value');
      return undefined;
    }
    const value = this.#value(0);
    if (value === undefined) this.#fault('a value is expected');
    else if (!this.#is('end')) this.#fault('something follows the value');
    return value;
  }

  #fault(what: string, at = this.#token.at): void {
    if (this.faults.length >= mostFaults) return;
    const before = this.#text.slice(0, at).split(/\r\n|\r|\n/);
    this.faults.push(`line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}: ${what}`);
  }

  #is(kind: Kind): boolean {
    return this.#token.kind === kind;
  }

  /** undefined where the token begins no value; it is not consumed then. */
  #value(depth: number): Json | undefined {
    const { kind, value } = this.#token;
    if ((kind === '{' || kind === '[') && depth >= deepest) return this.#skip();
    if (kind === '{') return this.#object(depth);
    if (kind === '[') return this.#array(depth);
    if (kind !== 'string' && kind !== 'literal') return undefined;
    this.#next();
    return value;
  }

  #object(depth: number): Json {
    const made = Object.create(null) as { [key: string]: Json };
    this.#next();
    let comma = true;
    while (this.#token.kind !== '}' && this.#token.kind !== 'end') {
      if (this.#token.kind === ',') {
        if (comma) this.#fault('a comma without a property before it');
        comma = true;
        this.#next();
        continue;
      }
      if (!comma) this.#fault('a comma is missing');
      comma = false;
      this.#property(made, depth);
    }
    this.#close('}');
    return made;
  }

  #property(made: { [key: string]: Json }, depth: number): void {
    if (this.#token.kind !== 'string') {
      this.#fault('the name of a property is expected');
      return this.#until('}');
    }
    const name = this.#token.value as string;
    this.#next();
    if (!this.#is(':')) {
      this.#fault(`a colon is expected after "${name}"`);
      return this.#until('}');
    }
    this.#next();
    const value = this.#value(depth + 1);
    if (value === undefined) {
      this.#fault(`"${name}" has no value`);
      return this.#until('}');
    }
    if (Object.hasOwn(made, name)) this.duplicates.push(name);
    made[name] = value;
  }

  #array(depth: number): Json {
    const made: Json[] = [];
    this.#next();
    let comma = true;
    while (this.#token.kind !== ']' && this.#token.kind !== 'end') {
      if (this.#token.kind === ',') {
        if (comma) this.#fault('a comma without a value before it');
        comma = true;
        this.#next();
        continue;
      }
      if (!comma) this.#fault('a comma is missing');
      comma = false;
      const value = this.#value(depth + 1);
      if (value === undefined) {
        this.#fault('a value is expected');
        this.#until(']');
      } else made.push(value);
    }
    this.#close(']');
    return made;
  }

  /** To the next comma, or the bracket that closes this level. */
  #until(closing: '}' | ']'): void {
    while (![closing, ',', 'end'].includes(this.#token.kind)) this.#next();
  }

  #close(closing: '}' | ']'): void {
    if (this.#token.kind === closing) this.#next();
    else this.#fault(`"${closing}" is missing`);
  }

  #skip(): Json {
    this.#fault('the values are nested too deep');
    let open = 0;
    do {
      if (this.#token.kind === '{' || this.#token.kind === '[') open += 1;
      if (this.#token.kind === '}' || this.#token.kind === ']') open -= 1;
      if (this.#token.kind === 'end') return null;
      this.#next();
    } while (open > 0);
    return null;
  }

  #next(): void {
    for (;;) {
      while (' \t\r\n'.includes(this.#text[this.#at] ?? 'end')) this.#at += 1;
      const at = this.#at;
      const character = this.#text[at];
      if (character === undefined) return this.#put('end', null, at);
      if ('{}[],:'.includes(character)) {
        this.#at += 1;
        return this.#put(character as Kind, null, at);
      }
      if (character === '"') return this.#put('string', this.#string(at), at);
      if (this.#comment(at)) continue;
      const number = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+(?:[eE][+-]?[0-9]*)?|\.|[eE][+-]?[0-9]*)?/.exec(
        this.#text.slice(at, at + 400),
      );
      if (number !== null) return this.#put('literal', this.#number(number[0], at), at);
      const word = this.#word(at);
      const known = { true: true, false: false, null: null }[word];
      if (known !== undefined) return this.#put('literal', known, at);
      // The CLI passes over what it does not know; a byte order mark alone is no fault.
      if (at > 0 || word !== '\uFEFF') this.#fault(`"${word.slice(0, 40)}" means nothing here`, at);
    }
  }

  #put(kind: Kind, value: Json, at: number): void {
    this.#token = { kind, value, at };
  }

  #comment(at: number): boolean {
    if (this.#text.startsWith('//', at)) {
      const end = this.#text.slice(at).search(/[\r\n]/);
      this.#at = end === -1 ? this.#text.length : at + end;
      return true;
    }
    if (!this.#text.startsWith('/*', at)) return false;
    const end = this.#text.indexOf('*/', at + 2);
    if (end === -1) this.#fault('the comment is not closed', at);
    this.#at = end === -1 ? this.#text.length : end + 2;
    return true;
  }

  #word(at: number): string {
    let end = at;
    while (end < this.#text.length && !' \t\r\n}{][":,/'.includes(this.#text[end] as string)) end += 1;
    // A dash before anything but a digit is a word of its own.
    this.#at = this.#text[at] === '-' ? at + 1 : Math.max(end, at + 1);
    return this.#text.slice(at, this.#at);
  }

  /** What is not whole at its end is passed over, and the rest counts. */
  #number(text: string, at: number): number {
    this.#at = at + text.length;
    if (!/[0-9]$/.test(text)) this.#fault('not a JSON number', at);
    return Number(text.replace(/[eE][+-]?$/, ''));
  }

  #string(start: number): string {
    let made = '';
    let at = start + 1;
    for (;;) {
      const character = this.#text[at];
      if (character === undefined || character === '\n' || character === '\r') {
        this.#fault('the string is not closed', start);
        break;
      }
      at += 1;
      if (character === '"') break;
      if (character !== '\\') {
        if (character < ' ') this.#fault('a control character in a string', at - 1);
        made += character;
        continue;
      }
      const [text, length] = this.#escape(at);
      made += text;
      at += length;
    }
    this.#at = at;
    return made;
  }

  /** What stands after a backslash: its meaning and its length. A wrong one means nothing. */
  #escape(at: number): readonly [string, number] {
    const letter = this.#text[at];
    const plain = letter === undefined ? undefined : escapes[letter];
    if (plain !== undefined) return [plain, 1];
    if (letter === 'u') {
      const digits = /^[0-9a-fA-F]{0,4}/.exec(this.#text.slice(at + 1, at + 5))?.[0] ?? '';
      if (digits.length === 4) return [String.fromCharCode(parseInt(digits, 16)), 5];
      this.#fault('an escape that is not whole', at - 1);
      return ['', 1 + digits.length];
    }
    this.#fault('an escape that JSON does not have', at - 1);
    return ['', letter === undefined ? 0 : 1];
  }
}
