/** YAML read with the place of everything, and where things end: what the library’s ranges leave open. */
import {
  isAlias,
  isCollection,
  isMap,
  isScalar,
  LineCounter,
  parseAllDocuments,
  visit,
  type Document,
  type Node,
  type Pair,
  type ParsedNode,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import { EditRefused } from './refuse.ts';

export type MapNode = YAMLMap.Parsed;
export type SeqNode = YAMLSeq.Parsed;
export type PairNode = Pair<ParsedNode, ParsedNode | null>;

/** More aliases than a config by hand has; each is expanded for the proof. */
const maxAliasCount = 1000;

const friendly: Readonly<Record<string, string>> = {
  TAB_AS_INDENT: 'tabs are not allowed as indentation',
  BAD_INDENT: 'the indentation does not fit',
  MISSING_CHAR: 'a character is missing',
};

/** The one document of a file, null where there is nothing but white space and comments. */
export function readYaml(text: string): Document.Parsed | null {
  checkCharacters(text);
  const parsed = parseAllDocuments(text, { keepSourceTokens: true, lineCounter: new LineCounter() });
  const documents: Document.Parsed[] = 'empty' in parsed ? [] : parsed;
  const error = documents.flatMap(({ errors }) => errors)[0];
  const twice = documents.flatMap(({ errors }) => errors).find(({ code }) => code === 'DUPLICATE_KEY');
  const worst = error?.code === 'DUPLICATE_KEY' ? twice : error;
  if (worst !== undefined)
    throw new EditRefused(
      worst.code === 'DUPLICATE_KEY' ? 'duplicate_key' : 'syntax_error',
      worst.code === 'DUPLICATE_KEY'
        ? `${keyAt(text, worst.pos[0])} is there twice`
        : (friendly[worst.code] ?? plainMessage(worst.message)),
      worst.pos[0],
    );
  const [document, second] = documents;
  if (second !== undefined)
    throw new EditRefused(
      'multiple_documents',
      'the file holds more than one YAML document',
      markerOf(text, document as Document.Parsed, second),
    );
  if (document !== undefined) checkAliases(document);
  return document ?? null;
}

function keyAt(text: string, offset: number): string {
  const key = /^(?:"[^"\n]*"|'[^'\n]*'|[^\s:]+)/.exec(text.slice(offset, offset + 200))?.[0] ?? 'a key';
  return /^["']/.test(key) ? key : `'${key}'`;
}

function plainMessage(message: string): string {
  const first = (message.split('\n')[0] ?? '').replace(/ at line \d+, column \d+:?$/, '');
  return first.charAt(0).toLowerCase() + first.slice(1);
}

/** Characters that YAML does not know in any form. */
function checkCharacters(text: string): void {
  const at = text.search(/[^\t\n\r\x20-\x7E\x85\xA0-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/u);
  if (at !== -1) throw new EditRefused('syntax_error', 'the file holds a control character', at);
}

/** Where the second document’s "---" is. */
function markerOf(text: string, first: Document.Parsed, second: Document.Parsed): number {
  const from = first.range[1];
  const marker = text.slice(from).search(/^---(?=\s|$)/m);
  return marker === -1 ? second.range[0] : from + marker;
}

function checkAliases(document: Document.Parsed): void {
  const anchors = new Set<string>();
  visit(document, {
    Node(_, node) {
      if (isAlias(node)) {
        if (!anchors.has(node.source))
          throw new EditRefused('syntax_error', `the alias '${node.source}' has no anchor`, startOf(node));
      } else if (node.anchor !== undefined) anchors.add(node.anchor);
    },
  });
}

/** What a reader sees, for the proof. */
export function readYamlValue(text: string): unknown {
  return valueOf(readYaml(text));
}

export function valueOf(document: Document.Parsed | null): unknown {
  try {
    return document?.toJS({ maxAliasCount }) ?? {};
  } catch (error) {
    if (!(error instanceof ReferenceError)) throw error;
    throw new EditRefused('syntax_error', 'the aliases of the file stand for too much');
  }
}

export function startOf(node: Node | null | undefined): number {
  return node?.range?.[0] ?? 0;
}

/** The end of a node’s own last character; unlike its range, without the comment and line break behind a block. */
export function endOf(node: Node | null | undefined): number {
  if (!isCollection(node) || isFlow(node)) return node?.range?.[1] ?? 0;
  const last = node.items.at(-1);
  if (isMap(node)) return last === undefined ? startOf(node) : pairEnd(last as PairNode);
  const dash = dashes(node as SeqNode).at(-1) ?? startOf(node);
  const item = last as ParsedNode | undefined;
  return isEmpty(item) ? dash + 1 : endOf(item);
}

export function isFlow(node: Node): boolean {
  return isCollection(node) && node.flow === true;
}

/** A value that is not written at all. */
export function isEmpty(node: Node | null | undefined): boolean {
  return node === null || node === undefined || (isScalar(node) && node.value === null && node.source === '');
}

/** A value that is not written, or is null. */
export function isNull(node: Node | null | undefined): boolean {
  return isEmpty(node) || (isScalar(node) && node.value === null);
}

export function pairEnd(pair: PairNode): number {
  return isEmpty(pair.value) ? keyEnd(pair) : Math.max(endOf(pair.value), keyEnd(pair));
}

/** The end of a pair’s key and colon. */
export function keyEnd(pair: PairNode): number {
  return Math.max((colonOf(pair) ?? -1) + 1, endOf(pair.key));
}

/** Where a pair begins: its key, or the "?" before it. */
export function pairStart(pair: PairNode): number {
  const mark = pair.srcToken?.start.find(({ type }) => type === 'explicit-key-ind');
  return mark?.offset ?? startOf(pair.key);
}

export function colonOf(pair: PairNode): number | null {
  const separators = pair.srcToken?.sep ?? [];
  return separators.find(({ type }) => type === 'map-value-ind')?.offset ?? null;
}

/** Offsets of the dashes of a block list. */
export function dashes(node: SeqNode): number[] {
  const token = node.srcToken;
  if (token?.type !== 'block-seq') return [];
  return token.items.flatMap(({ start }) =>
    start.filter(({ type }) => type === 'seq-item-ind').map(({ offset }) => offset),
  );
}

/** The pair of that key, compared as parsed string. */
export function pairOf(node: MapNode, key: string): PairNode | null {
  return (node.items as PairNode[]).find((pair) => isScalar(pair.key) && pair.key.value === key) ?? null;
}

/** Where the comment that begins at `offset` ends, or null. */
export function yamlComment(text: string): (offset: number) => number | null {
  return (offset) => {
    if (text[offset] !== '#' || !/[\s]/.test(text[offset - 1] ?? '\n')) return null;
    const end = offset + text.slice(offset).search(/\r?\n|$/);
    return end;
  };
}
