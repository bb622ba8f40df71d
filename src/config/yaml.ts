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

/** A plain word that YAML 1.1 and 1.2 read as different types: no type accepts it. */
export class AmbiguousWord {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

export type Place = { readonly line: number; readonly column: number };
export type YamlProblem = { readonly place: Place; readonly path: ConfigPath; readonly message: string };

/** Offsets of a map's keys and values, or of a list's items. */
type Spot = {
  readonly start: number;
  readonly keys: ReadonlyMap<string | number, { key: number; value: number }>;
};

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
  const spots = new WeakMap<object, Spot>();
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
  const value = problems.length > 0 ? undefined : convert(document, spots, place, problems);
  return {
    value,
    problems,
    placeOf: (path) => place(offsetOf(value, spots, path, false)),
    placeOfKey: (path) => place(offsetOf(value, spots, path, true)),
    spelling: (path) => /^[^\s,\]}#]*/.exec(text.slice(offsetOf(value, spots, path, false)))?.[0] ?? '',
  };
}

function syntaxMessage(code: string, message: string): string {
  if (code === 'MULTIPLE_DOCS') return 'expected one document, this is the second';
  const first = (message.split('\n')[0] ?? message).replace(/\.$/, '');
  return `not YAML: ${first.slice(0, 1).toLowerCase()}${first.slice(1)}`;
}

function convert(
  document: Document,
  spots: WeakMap<object, Spot>,
  place: (offset: number) => Place,
  problems: YamlProblem[],
): unknown {
  let aliased = 0;

  function refuse(node: Node, path: ConfigPath, message: string): undefined {
    problems.push({ place: place(node.range?.[0] ?? 0), path, message });
    return undefined;
  }

  function visit(node: Node | null, path: (string | number)[], viaAlias: boolean): unknown {
    if (node === null) return null;
    if (path.length > maxDepth) return refuse(node, path, 'nested too deeply');
    if (viaAlias && ++aliased > maxAliased) return refuse(node, path, 'aliases add too much');
    if (path[0] === 'tools' && (isAlias(node) || node.anchor !== undefined))
      return refuse(node, path, `${isAlias(node) ? 'aliases' : 'anchors'} are not allowed in the policy`);
    if (isAlias(node)) {
      const target = node.resolve(document);
      return target ? visit(target, path, true) : refuse(node, path, `there is no anchor "${node.source}"`);
    }
    if (node.tag !== undefined) return refuse(node, path, `a tag (${node.tag}) is not allowed`);
    if (isScalar(node)) return scalar(node);
    if (isSeq(node)) return sequence(node, path, viaAlias);
    return isMap(node) ? mapping(node, path, viaAlias) : refuse(node, path, 'expected a value');
  }

  function sequence(
    node: { items: unknown[]; range?: Node['range'] },
    path: (string | number)[],
    viaAlias: boolean,
  ): unknown {
    const keys = new Map<number, { key: number; value: number }>();
    const values = node.items.map((item, index) => {
      const start = (item as Node | null)?.range?.[0] ?? node.range?.[0] ?? 0;
      keys.set(index, { key: start, value: start });
      return visit(item as Node | null, [...path, index], viaAlias);
    });
    spots.set(values, { start: node.range?.[0] ?? 0, keys });
    return values;
  }

  function mapping(
    node: { items: { key: unknown; value: unknown }[]; range?: Node['range'] },
    path: (string | number)[],
    viaAlias: boolean,
  ): unknown {
    const value: Record<string, unknown> = {};
    const keys = new Map<string, { key: number; value: number }>();
    for (const pair of node.items) {
      const key = pair.key as Node;
      const name =
        isScalar(key) && key.tag === undefined && key.anchor === undefined ? scalar(key) : undefined;
      if (typeof name !== 'string') {
        refuse(key, path, 'expected a string as the key: quote it');
        continue;
      }
      const start = key.range?.[0] ?? 0;
      if (name === '<<') refuse(key, path, 'merge keys are not allowed');
      else if (name === '__proto__') refuse(key, path, 'the key "__proto__" is not allowed');
      else if (keys.has(name)) {
        const { line } = place(keys.get(name)?.key ?? 0);
        refuse(key, [...path, name], `duplicate key "${name}": it is on line ${line} already`);
      } else {
        keys.set(name, { key: start, value: (pair.value as Node | null)?.range?.[0] ?? start });
        value[name] = visit(pair.value as Node | null, [...path, name], viaAlias);
      }
    }
    spots.set(value, { start: node.range?.[0] ?? 0, keys });
    return value;
  }

  return visit(document.contents as Node | null, [], false);
}

function scalar(node: Scalar): unknown {
  const plain = node.type === Scalar.PLAIN;
  if (plain && typeof node.value === 'string' && ambiguous.test(node.value))
    return new AmbiguousWord(node.value);
  return node.value;
}

function offsetOf(root: unknown, spots: WeakMap<object, Spot>, path: ConfigPath, key: boolean): number {
  let value = root;
  let offset = 0;
  for (const [index, step] of path.entries()) {
    const spot = typeof value === 'object' && value !== null ? spots.get(value) : undefined;
    const found = spot?.keys.get(step);
    if (!found) return offset;
    offset = key && index === path.length - 1 ? found.key : found.value;
    value = (value as Record<string | number, unknown>)[step];
  }
  return offset;
}
