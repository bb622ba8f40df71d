/** YAML text -> descriptor, or every problem with its line, column, key and what was expected. */
import {
  LineCounter,
  isMap,
  isPair,
  isScalar,
  isSeq,
  parseDocument,
  visit,
  type Document,
  type Node,
} from 'yaml';
import type { z } from 'zod';
import { WraptoolError } from '../errors.ts';
import { descriptorSchema, type DescriptorData } from './schema.ts';

type Path = readonly PropertyKey[];
type Issue = z.core.$ZodIssue;

type Problem = { readonly offset: number; readonly text: string };

export function parseDescriptor(text: string, file: string): DescriptorData {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    strict: true,
    uniqueKeys: true,
    version: '1.2',
  });
  const broken = syntaxProblems(document);
  if (broken.length > 0) throw invalid(file, broken, lines);
  const result = descriptorSchema.safeParse(document.toJS({ maxAliasCount: 0 }));
  if (result.success) return result.data;
  throw invalid(
    file,
    result.error.issues.flatMap((issue) => problems(issue, document)),
    lines,
  );
}

function syntaxProblems(document: Document): Problem[] {
  const found = [...document.errors, ...document.warnings].map(({ pos, message }) => ({
    offset: pos[0],
    text: (message.split('\n')[0] ?? '').replace(/ at line \d+, column \d+:?$/, ''),
  }));
  visit(document, {
    Alias: (_, node) =>
      void found.push({ offset: node.range?.[0] ?? 0, text: 'aliases are not allowed in a descriptor' }),
  });
  return found;
}

/** All problems at once, in the order of the file. */
function invalid(file: string, found: readonly Problem[], lines: LineCounter): WraptoolError {
  const ordered = [...found].sort((one, other) => one.offset - other.offset);
  const located = ordered.map(({ offset, text }) => {
    const { line, col } = lines.linePos(offset);
    return `${file}:${line}:${col} ${text}`;
  });
  return new WraptoolError(
    'harness_invalid',
    `the descriptor "${file}" has ${found.length === 1 ? 'an error' : 'errors'}`,
    { problems: [...new Set(located)], hint: 'docs/harnesses.md lists every key of a descriptor' },
  );
}

function problems(issue: Issue, document: Document): Problem[] {
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => {
      const near = nearest(key, knownKeys(issue.path));
      const advice = near === undefined ? '' : ` (did you mean "${near}"?)`;
      const place = [...issue.path, key];
      return { offset: offsetOf(document, place), text: `${dotted(place)}: unknown key${advice}` };
    });
  const missing = issue.path.length > 0 && issue.code === 'invalid_type' && !document.hasIn([...issue.path]);
  const message = missing
    ? 'is missing'
    : issue.message.replace(/^Invalid (input|option|string|key in record): ?/, '');
  return [
    { offset: offsetOf(document, issue.path), text: `${dotted(issue.path) || 'descriptor'}: ${message}` },
  ];
}

function dotted(keys: Path): string {
  return keys
    .map((key) => (typeof key === 'number' ? `[${key}]` : String(key)))
    .join('.')
    .replaceAll('.[', '[');
}

/** Where the deepest part of the path that is there begins; of a pair, its key. */
function offsetOf(document: Document, keys: Path): number {
  let node: unknown = document.contents;
  let offset = (node as Node | null)?.range?.[0] ?? 0;
  for (const key of keys) {
    const next = child(node, key);
    if (next === undefined) break;
    ({ node, offset } = next);
  }
  return offset;
}

function child(node: unknown, key: PropertyKey): { node: unknown; offset: number } | undefined {
  if (isSeq(node)) {
    const item = node.items[Number(key)] as Node | undefined;
    return item === undefined ? undefined : { node: item, offset: item.range?.[0] ?? 0 };
  }
  if (!isMap(node)) return undefined;
  for (const pair of node.items)
    if (isPair(pair) && isScalar(pair.key) && String(pair.key.value) === String(key))
      return { node: pair.value, offset: pair.key.range?.[0] ?? 0 };
  return undefined;
}

/** Keys that the schema knows at a path; a record or a list is passed through by any key. */
function knownKeys(keys: Path): string[] {
  let schema: unknown = descriptorSchema;
  for (const key of keys) schema = step(unwrapped(schema), key);
  const shape = (unwrapped(schema) as { shape?: object } | undefined)?.shape;
  return shape === undefined ? [] : Object.keys(shape);
}

type Wrapped = { readonly unwrap?: () => unknown };

function unwrapped(schema: unknown): unknown {
  let inner = schema;
  while (typeof (inner as Wrapped | undefined)?.unwrap === 'function' && !('element' in (inner as object)))
    inner = (inner as Required<Wrapped>).unwrap();
  return inner;
}

function step(schema: unknown, key: PropertyKey): unknown {
  const { shape, element, valueType } = (schema ?? {}) as {
    shape?: Record<PropertyKey, unknown>;
    element?: unknown;
    valueType?: unknown;
  };
  return shape?.[key] ?? element ?? valueType;
}

/** The one of `names` that was probably meant: at most about a third of its letters differ. */
export function nearest(word: string, names: readonly string[]): string | undefined {
  const ranked = names
    .map((name) => ({ name, distance: editDistance(word, name) }))
    .filter(({ name, distance }) => distance <= Math.ceil(name.length / 3))
    .sort((one, other) => one.distance - other.distance);
  return ranked[0]?.name;
}

function editDistance(one: string, other: string): number {
  if (Math.abs(one.length - other.length) > 16) return Number.POSITIVE_INFINITY;
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= other.length; j += 1)
      next.push(
        Math.min(
          (row[j] ?? 0) + 1,
          (next[j - 1] ?? 0) + 1,
          (row[j - 1] ?? 0) + (one[i - 1] === other[j - 1] ? 0 : 1),
        ),
      );
    row = next;
  }
  return row[other.length] ?? 0;
}
