/** A tool's `allow` or `deny` as it is written, and other text in its place; whatever is outside stays byte for byte. */
import { isDeepStrictEqual } from 'node:util';
import { isMap } from 'yaml';
import { readTool, type PolicyTool } from './policy-read.ts';
import { EditRefused, refusing } from './refuse.ts';
import { byteOrderMark } from './splice.ts';
import { unifiedDiff } from './diff.ts';
import type { Change, Outcome, Refusal } from './types.ts';
import { isFlow, pairEnd, pairOf, pairStart, readYamlValue, startOf, type PairNode } from './yaml-read.ts';

export type SectionName = 'allow' | 'deny';

export type Section = {
  readonly ok: true;
  /** Whole lines with their indentation, or within a flow mapping the pair alone; empty where it is not there. */
  readonly text: string;
  /** 1-based line of its first character, or of where it would come. */
  readonly line: number;
  /** What a key of the tool is indented by. */
  readonly indent: string;
};

type Span = { readonly from: number; readonly to: number; readonly before: string; readonly indent: string };

/** Refused where the tool is not there, or its section can't be told apart. */
export function readSection(text: string, tool: string, name: SectionName): Section | Refusal {
  const body = bodyOf(text);
  return refusing(body, () => {
    const { from, to, indent } = spanOf(body, readTool(body, tool), name);
    return { ok: true, text: body.slice(from, to), line: body.slice(0, from).split('\n').length, indent };
  });
}

/** The text with `next` for the section. Refused where it would change anything else than `tools.TOOL.NAME`. */
export function replaceSection(text: string, tool: string, name: SectionName, next: string): Outcome {
  const body = bodyOf(text);
  return refusing(body, () => {
    const { from, to, before } = spanOf(body, readTool(body, tool), name);
    const lineBreak = body.includes('\r\n') ? '\r\n' : '\n';
    const lines = next.replaceAll(/\r?\n/g, lineBreak).replace(/\s+$/, '');
    const change = trimmed({
      at: from,
      remove: body.slice(from, to),
      insert: lines === '' ? '' : before + lines,
    });
    const after = body.slice(0, change.at) + change.insert + body.slice(change.at + change.remove.length);
    const changes = change.remove === change.insert ? [] : [change];
    if (!isDeepStrictEqual(without(readYamlValue(body), tool, name), without(reread(after), tool, name)))
      throw new EditRefused(
        'result_invalid',
        `only tools.${tool}.${name} can be changed here: this would change something else too`,
      );
    return {
      ok: true,
      text: text.slice(0, text.length - body.length) + after,
      changes,
      diff: changes.length === 0 ? '' : unifiedDiff(body, after, changes),
      notes: [],
    };
  });
}

const bodyOf = (text: string): string =>
  text.startsWith(byteOrderMark) ? text.slice(byteOrderMark.length) : text;

/** Its place is one of the new text, which nobody has in front of them. */
function reread(text: string): unknown {
  try {
    return readYamlValue(text);
  } catch (error) {
    if (!(error instanceof EditRefused)) throw error;
    const line =
      error.offset === undefined ? '' : ` in line ${text.slice(0, error.offset).split('\n').length}`;
    throw new EditRefused('result_invalid', `the file would not be YAML${line}: ${error.message}`);
  }
}

function spanOf(text: string, { node }: PolicyTool, name: SectionName): Span {
  const pair = pairOf(node, name) as PairNode | null;
  const flow = isFlow(node);
  const first = node.items[0] as PairNode | undefined;
  const last = node.items.at(-1) as PairNode | undefined;
  if (first === undefined || last === undefined)
    throw new EditRefused('wrong_type', 'the tool is empty', startOf(node));
  const lead = text.slice(lineStart(text, pairStart(first)), pairStart(first));
  const indent = /^\s*/.exec(lead)?.[0] ?? '';
  if (pair !== null) {
    const start = pairStart(pair);
    if (flow) return { from: start, to: pairEnd(pair), before: '', indent };
    const from = lineStart(text, start);
    if (text.slice(from, start).trim() !== '')
      throw new EditRefused('wrong_type', `"${name}" shares its line with something else`, start);
    return { from, to: lineEnd(text, pairEnd(pair)), before: '', indent };
  }
  if (flow || !isMap(node))
    throw new EditRefused(
      'wrong_type',
      `there is no "${name}": add it to the file by hand first`,
      startOf(node),
    );
  const end = lineEnd(text, pairEnd(last));
  return { from: end, to: end, before: text.includes('\r\n') ? '\r\n' : '\n', indent };
}

const lineStart = (text: string, at: number): number => text.lastIndexOf('\n', at - 1) + 1;

function lineEnd(text: string, at: number): number {
  const end = text.indexOf('\n', at);
  if (end === -1) return text.length;
  return text[end - 1] === '\r' && end > at ? end - 1 : end;
}

function without(value: unknown, tool: string, name: SectionName): unknown {
  const copy = structuredClone(value) as { tools?: Record<string, Record<string, unknown> | null> };
  delete copy.tools?.[tool]?.[name];
  return copy;
}

/** Without what is the same at both ends. */
function trimmed({ at, remove, insert }: Change): Change {
  let head = 0;
  while (head < Math.min(remove.length, insert.length) && remove[head] === insert[head]) head += 1;
  let tail = 0;
  const room = Math.min(remove.length, insert.length) - head;
  while (tail < room && remove[remove.length - 1 - tail] === insert[insert.length - 1 - tail]) tail += 1;
  return {
    at: at + head,
    remove: remove.slice(head, remove.length - tail),
    insert: insert.slice(head, insert.length - tail),
  };
}
