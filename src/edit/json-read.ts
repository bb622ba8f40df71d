/** JSON and JSONC read with the place of everything: strict as the client’s own parser, so that nothing it refuses passes. */
import { EditRefused } from './refuse.ts';
import type { Grammar } from './types.ts';

export type Span = { readonly start: number; readonly end: number };

export type JsonMember = Span & { readonly key: string; readonly colon: number; readonly value: JsonNode };

export type JsonNode =
  | (Span & { readonly type: 'object'; readonly members: readonly JsonMember[] })
  | (Span & { readonly type: 'array'; readonly items: readonly JsonNode[] })
  | (Span & { readonly type: 'scalar'; readonly value: string | number | boolean | null });

export type JsonDocument = {
  /** Null where there is nothing but white space and comments. */
  readonly root: JsonNode | null;
  /** By offset: where the comment that begins there ends (a line comment before its line break). */
  readonly comments: ReadonlyMap<number, number>;
};

// A document that is nested deeper is no config, and would exhaust the stack.
const deepest = 500;

export function readJson(text: string, grammar: Grammar): JsonDocument {
  return new Reader(text, grammar).document();
}

/** The value as JSON.parse would give it: of equal keys the last counts, and "__proto__" is a key like any other. */
export function jsonValue(node: JsonNode): unknown {
  if (node.type === 'scalar') return node.value;
  if (node.type === 'array') return node.items.map(jsonValue);
  return Object.fromEntries(node.members.map(({ key, value }) => [key, jsonValue(value)]));
}

class Reader {
  readonly #text: string;
  readonly #grammar: Grammar;
  readonly #comments = new Map<number, number>();
  #at = 0;

  constructor(text: string, grammar: Grammar) {
    this.#text = text;
    this.#grammar = grammar;
  }

  document(): JsonDocument {
    this.#skip();
    const root = this.#at === this.#text.length ? null : this.#value(0);
    this.#skip();
    if (this.#at < this.#text.length) this.#fail('the value has ended, but more text follows');
    return { root, comments: this.#comments };
  }

  #fail(why: string, at = this.#at): never {
    throw new EditRefused('syntax_error', why, at);
  }

  /** White space and comments. */
  #skip(): void {
    for (;;) {
      const character = this.#text[this.#at];
      if (character === ' ' || character === '\t' || character === '\n' || character === '\r') this.#at += 1;
      else if (character === '/') this.#comment();
      else return;
    }
  }

  #comment(): void {
    const start = this.#at;
    const line = this.#text.startsWith('//', start);
    if (!line && !this.#text.startsWith('/*', start)) this.#fail('a single "/" means nothing here');
    if (!this.#grammar.comments) this.#fail('comments are not allowed in this file');
    const end = line
      ? this.#text.slice(start).search(/\r|\n|$/)
      : this.#text.indexOf('*/', start + 2) + 2 - start;
    if (end <= 1) this.#fail('the comment is not closed', start);
    this.#at = start + end;
    this.#comments.set(start, this.#at);
  }

  #value(depth: number): JsonNode {
    if (depth > deepest) this.#fail('the values are nested too deep');
    const start = this.#at;
    const character = this.#text[start];
    if (character === '{') return this.#object(depth);
    if (character === '[') return this.#array(depth);
    if (character === '"') return { type: 'scalar', value: this.#string(), start, end: this.#at };
    const word = /^[^\s,:[\]{}"/]+/.exec(this.#text.slice(start, start + 400))?.[0] ?? '';
    const value = { true: true, false: false, null: null }[word];
    if (value === undefined && !/^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$/.test(word))
      this.#fail(word === '' ? 'a value is missing' : `"${word.slice(0, 40)}" is not a JSON value`);
    this.#at += word.length;
    return { type: 'scalar', value: value === undefined ? Number(word) : value, start, end: this.#at };
  }

  #string(): string {
    const start = this.#at;
    let end = start + 1;
    while (!['"', '\n', '\r', undefined].includes(this.#text[end])) end += this.#text[end] === '\\' ? 2 : 1;
    if (this.#text[end] !== '"') this.#fail('the string is not closed', start);
    this.#at = end + 1;
    try {
      return JSON.parse(this.#text.slice(start, this.#at)) as string;
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      return this.#fail('the string holds a character or an escape that JSON does not allow', start);
    }
  }

  #object(depth: number): JsonNode {
    const start = this.#at;
    const members: JsonMember[] = [];
    this.#list('}', 'member', () => members.push(this.#member(depth)));
    return { type: 'object', members, start, end: this.#at };
  }

  #member(depth: number): JsonMember {
    const start = this.#at;
    if (this.#text[start] !== '"')
      this.#fail(
        this.#text[start] === "'"
          ? 'names are written in double quotes'
          : 'a name in double quotes is missing',
      );
    const key = this.#string();
    this.#skip();
    const colon = this.#at;
    if (this.#text[colon] !== ':') this.#fail('a colon is missing');
    this.#at += 1;
    this.#skip();
    const value = this.#value(depth + 1);
    return { key, colon, value, start, end: this.#at };
  }

  #array(depth: number): JsonNode {
    const start = this.#at;
    const items: JsonNode[] = [];
    this.#list(']', 'value', () => items.push(this.#value(depth + 1)));
    return { type: 'array', items, start, end: this.#at };
  }

  /** From the opening to the closing bracket, `one` reads what stands between the commas. */
  #list(close: string, what: string, one: () => void): void {
    this.#at += 1;
    this.#skip();
    for (let first = true; this.#text[this.#at] !== close; first = false) {
      if (!first) {
        if (this.#at >= this.#text.length) this.#fail(`"${close}" is missing`);
        if (this.#text[this.#at] !== ',') this.#fail('a comma is missing');
        this.#at += 1;
        this.#skip();
        if (this.#text[this.#at] === close) {
          if (!this.#grammar.trailingCommas) this.#fail(`a ${what} is missing after the comma`);
          break;
        }
      }
      if (this.#at >= this.#text.length) this.#fail(`"${close}" is missing`);
      one();
      this.#skip();
    }
    this.#at += 1;
  }
}
