/** The part of wraptool’s own config that an allow rule is written into, checked for what the edit relies on. */
import { isMap, isScalar, isSeq, type CST, type Document, type Node } from 'yaml';
import { EditRefused } from './refuse.ts';
import {
  colonOf,
  isNull,
  pairOf,
  readYaml,
  startOf,
  type MapNode,
  type PairNode,
  type SeqNode,
} from './yaml-read.ts';

export type Rule = {
  readonly node: MapNode;
  /** Null for a rule of the bare tool. */
  readonly subcommand: string | null;
  readonly flags: 'any' | readonly string[];
  readonly argsPattern: boolean;
};

export type PolicyTool = {
  readonly document: Document.Parsed;
  /** The pair `NAME: {…}` below `tools`. */
  readonly pair: PairNode;
  readonly node: MapNode;
  readonly allow: PairNode | null;
  readonly rules: readonly Rule[];
  readonly deny: readonly Rule[];
};

/** The tool’s section; refuses what would not load or can’t be edited. */
export function readTool(text: string, name: string): PolicyTool {
  const document = readYaml(text);
  const root = document?.contents ?? null;
  if (document === null || isNull(root)) throw new EditRefused('config_invalid', 'the config is empty');
  if (!isMap(root)) throw new EditRefused('wrong_type', 'the config must be a mapping', startOf(root));
  const tools = pairOf(root as MapNode, 'tools');
  if (tools?.srcToken) checkAnchors(tools.srcToken);
  const pair = tools === null ? null : pairOf(mapping(tools, 'tools'), name);
  if (pair === null)
    throw new EditRefused('unknown_tool', `there is no tool '${name}': add 'tools.${name}.binary' first`);
  const place = `tools.${name}`;
  const node = mapping(pair, place);
  const allow = pairOf(node, 'allow');
  return {
    document,
    pair,
    node,
    allow,
    rules: rulesOf(allow, `${place}.allow`),
    deny: rulesOf(pairOf(node, 'deny'), `${place}.deny`),
  };
}

/** Where the value of a pair is, or would be. */
function valuePlace(pair: PairNode): number {
  const colon = colonOf(pair);
  return isNull(pair.value) && colon !== null ? colon + 1 : startOf(pair.value ?? pair.key);
}

function mapping(pair: PairNode, place: string): MapNode {
  if (isMap(pair.value)) return pair.value as MapNode;
  throw new EditRefused('wrong_type', `'${place}' must be a mapping`, valuePlace(pair));
}

function rulesOf(pair: PairNode | null, place: string): Rule[] {
  if (pair === null || isNull(pair.value)) return [];
  if (!isSeq(pair.value))
    throw new EditRefused('wrong_type', `'${place}' must be a list`, startOf(pair.value));
  return (pair.value as SeqNode).items.map((item, index) => ruleOf(item, `${place}[${index}]`));
}

function ruleOf(node: Node, place: string): Rule {
  if (!isMap(node)) throw new EditRefused('wrong_type', `'${place}' must be a mapping`, startOf(node));
  const map = node as MapNode;
  const subcommand = pairOf(map, 'subcommand');
  return {
    node: map,
    subcommand:
      subcommand === null ? null : stringOf(subcommand.value, `${place}.subcommand`, valuePlace(subcommand)),
    flags: flagsOf(pairOf(map, 'flags'), `${place}.flags`),
    argsPattern: !isNull(pairOf(map, 'args_pattern')?.value),
  };
}

function flagsOf(pair: PairNode | null, place: string): Rule['flags'] {
  if (pair === null || isNull(pair.value)) return [];
  if (isScalar(pair.value) && pair.value.value === 'any') return 'any';
  if (!isSeq(pair.value))
    throw new EditRefused('wrong_type', `'${place}' must be a list or 'any'`, startOf(pair.value));
  return (pair.value as SeqNode).items.map((item, index) =>
    stringOf(item, `${place}[${index}]`, startOf(item)),
  );
}

function stringOf(node: Node | null, place: string, offset: number): string {
  if (isScalar(node) && typeof node.value === 'string') return node.value;
  const advice = isScalar(node) && node.value !== null ? ', quote it' : '';
  throw new EditRefused('wrong_type', `'${place}' must be a string${advice}`, offset);
}

const policyWord: Readonly<Record<string, string>> = {
  anchor: 'anchors are not allowed in the policy',
  alias: 'aliases are not allowed in the policy',
  merge: 'merge keys are not allowed in the policy',
};

/** Whoever reads the policy must see at each place what holds there. */
function checkAnchors(item: CST.CollectionItem): void {
  const [first] = [...markers(item)].sort((one, other) => one.offset - other.offset);
  if (first !== undefined)
    throw new EditRefused('anchor_in_policy', policyWord[first.kind] as string, first.offset);
}

function* markers({
  start,
  key,
  sep,
  value,
}: CST.CollectionItem): Generator<{ kind: string; offset: number }> {
  for (const token of [...start, ...(sep ?? [])])
    if (token.type === 'anchor') yield { kind: 'anchor', offset: token.offset };
  if (key?.type === 'scalar' && key.source === '<<') yield { kind: 'merge', offset: key.offset };
  for (const token of [key, value]) {
    if (token?.type === 'alias') yield { kind: 'alias', offset: token.offset };
    if (token?.type === 'block-scalar')
      for (const prop of token.props)
        if (prop.type === 'anchor') yield { kind: 'anchor', offset: prop.offset };
    if (token && 'items' in token)
      for (const inner of token.items as CST.CollectionItem[]) yield* markers(inner);
  }
}
