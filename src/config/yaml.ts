/** Strict YAML: one document, no tags, no surprises; every value knows its place. */
import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  Scalar,
  type Document,
  type Node,
} from 'yaml';
import type { ConfigPath } from '../policy/spec.ts';
import { placesOf } from './places.ts';

/** A plain word that YAML 1.1 and 1.2 read as different types: no type accepts it. */
export class AmbiguousWord {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

export type Place = { readonly line: number; readonly column: number };
export type YamlProblem = { readonly place: Place; readonly path: ConfigPath; readonly message: string };

export type YamlFile = {
  readonly value: unknown;
  readonly problems: readonly YamlProblem[];
  /** The place of the value at a path, or of the deepest part of it that is there. */
  readonly placeOf: (path: ConfigPath) => Place;
  /** The place of a map's key. */
  readonly placeOfKey: (path: ConfigPath) => Place;
  /** A plain value as it is spelled. */
  readonly spelling: (path: ConfigPath) => string;
};

const maxDepth = 32;
/** How many nodes aliases may add. */
const maxAliased = 10_000;

// Booleans and sexagesimal numbers of YAML 1.1 that are strings in 1.2, numbers with underscores, octals.
const ambiguous =
  /^(?:[yY]es|YES|[nN]o|NO|[oO]n|ON|[oO]ff|OFF|[-+]?0b[01_]+|[-+]?[0-9][0-9_]*_[0-9_]*|[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+)$/;

export function readYaml(text: string): YamlFile {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: false,
    version: '1.2',
    schema: 'core',
    merge: false,
    // Silent would also hide that there is a second document.
    logLevel: 'error',
  });
  const problems: YamlProblem[] = [];
  const place = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  for (const error of document.errors)
    problems.push({
      place: place(error.pos[0]),
      path: [],
      message: syntaxMessage(error.code, error.message),
    });
  // Another version reads the same words as other types.
  if (document.directives?.yaml.explicit && document.directives.yaml.version !== '1.2')
    problems.push({
      place: { line: 1, column: 1 },
      path: [],
      message: 'a %YAML directive of another version than 1.2 is not allowed',
    });
  const value = problems.length > 0 ? undefined : convert(document, place, problems);
  const { offsetOf } = placesOf(document);
  return {
    value,
    problems,
    placeOf: (path) => place(offsetOf(path, 'value')),
    placeOfKey: (path) => place(offsetOf(path, 'key')),
    spelling: (path) => /^[^\s,\]}#]*/.exec(text.slice(offsetOf(path, 'value')))?.[0] ?? '',
  };
}

function syntaxMessage(code: string, message: string): string {
  if (code === 'MULTIPLE_DOCS') return 'expected one document, this is the second';
  const first = (message.split('\n')[0] ?? message).replace(/\.$/, '');
  return `not YAML: ${first.slice(0, 1).toLowerCase()}${first.slice(1)}`;
}

function convert(document: Document, place: (offset: number) => Place, problems: YamlProblem[]): unknown {
  let aliased = 0;

  /** Of the node that is visited. */
  const path: (string | number)[] = [];

  function refuse(node: Node, at: ConfigPath, message: string): undefined {
    problems.push({ place: place(node.range?.[0] ?? 0), path: [...at], message });
    return undefined;
  }

  function visit(node: Node | null, viaAlias: boolean): unknown {
    if (node === null) return null;
    if (path.length > maxDepth) return refuse(node, path, 'nested too deeply');
    if (viaAlias && ++aliased > maxAliased) return refuse(node, path, 'aliases add too much');
    if (path[0] === 'tools' && (isAlias(node) || node.anchor !== undefined))
      return refuse(node, path, `${isAlias(node) ? 'aliases' : 'anchors'} are not allowed in the policy`);
    if (isAlias(node)) {
      const target = node.resolve(document);
      return target ? visit(target, true) : refuse(node, path, `there is no anchor "${node.source}"`);
    }
    if (node.tag !== undefined) return refuse(node, path, `a tag (${node.tag}) is not allowed`);
    if (isScalar(node)) return scalar(node);
    if (isSeq(node)) return node.items.map((item, index) => below(index, item as Node | null, viaAlias));
    return isMap(node) ? mapping(node, viaAlias) : refuse(node, path, 'expected a value');
  }

  function below(step: string | number, node: Node | null, viaAlias: boolean): unknown {
    path.push(step);
    const value = visit(node, viaAlias);
    path.pop();
    return value;
  }

  function mapping(node: { items: { key: unknown; value: unknown }[] }, viaAlias: boolean): unknown {
    const value: Record<string, unknown> = {};
    for (const pair of node.items) {
      const key = pair.key as Node;
      const name =
        isScalar(key) && key.tag === undefined && key.anchor === undefined ? scalar(key) : undefined;
      if (typeof name !== 'string') refuse(key, path, 'expected a string as the key: quote it');
      else if (name === '<<') refuse(key, path, 'merge keys are not allowed');
      else if (name === '__proto__') refuse(key, path, 'the key "__proto__" is not allowed');
      else if (Object.hasOwn(value, name)) {
        const first = node.items.find((other) => isScalar(other.key) && other.key.value === name);
        const { line } = place((first?.key as Node | undefined)?.range?.[0] ?? 0);
        refuse(key, [...path, name], `duplicate key "${name}": it is on line ${line} already`);
      } else value[name] = below(name, pair.value as Node | null, viaAlias);
    }
    return value;
  }

  return visit(document.contents as Node | null, false);
}

function scalar(node: Scalar): unknown {
  const plain = node.type === Scalar.PLAIN;
  if (plain && typeof node.value === 'string' && ambiguous.test(node.value))
    return new AmbiguousWord(node.value);
  return node.value;
}
