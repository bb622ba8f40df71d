/** Patterns of the policy: full match, refused where growth is exponential, bounded in time in any case. */
import { growth, type Growth } from './growth.ts';
import { buildMachine, MachineTooLarge, runMachine } from './machine.ts';
import { leafBorders, parsePattern, UnsupportedPattern, type Node } from './parse.ts';

export type Pattern = {
  readonly source: string;
  /** Full match; null when it cannot be known in bounded time (then allow means no, deny means yes). */
  readonly matches: (value: string) => boolean | null;
};

export type PatternResult =
  { readonly pattern: Pattern; readonly growth: Exclude<Growth, 'exponential'> } | { readonly error: string };

/**
 * Flag u, so that characters are whole and unknown escapes are errors; with `dotAll` a dot takes newlines too.
 */
export function compilePattern(source: string, dotAll: boolean): PatternResult {
  const flags = dotAll ? 'us' : 'u';
  try {
    const native = new RegExp(`^(?:${source})$`, flags);
    // Alone too: "a)(b" is only valid inside the group above.
    new RegExp(source, flags).test('');
    const node = parsePattern(source);
    const judged = withoutTail(node, dotAll);
    const test = leafTest(flags);
    const unbounded = worst(judged, (part) => growth(part, test, 'copies'));
    if (unbounded === 'exponential')
      return { error: `matching "${source}" takes time that grows exponentially with the value` };
    const machine = buildMachine(node);
    const simple = !hasExtras(node) && growth(judged, test, 'loop') === 'linear';
    const matches = simple
      ? (value: string) => native.test(value)
      : (value: string) => runMachine(machine, value, test);
    return { pattern: { source, matches }, growth: unbounded };
  } catch (error) {
    if (error instanceof UnsupportedPattern) return { error: `"${source}": ${error.message}` };
    if (error instanceof MachineTooLarge)
      return { error: `"${source}" is too large once its repetitions are written out` };
    if (error instanceof SyntaxError)
      return { error: `"${source}" is not a regular expression: ${reason(error, source)}` };
    throw error;
  }
}

function reason(error: SyntaxError, source: string): string {
  return (
    error.message
      .replace(/^Invalid regular expression: /, '')
      .replace(/^\/.*\/u?s?: /s, '')
      .toLowerCase() || source
  );
}

function leafTest(flags: string): (leaf: string, character: string) => boolean {
  const made = new Map<string, RegExp>();
  return (leaf, character) => {
    let expression = made.get(leaf);
    if (!expression) made.set(leaf, (expression = new RegExp(`^${leaf}$`, flags)));
    return expression.test(character);
  };
}

/** A last "anything" always succeeds at once: it adds nothing to the work of a match that fails. */
function withoutTail(node: Node, dotAll: boolean): Node {
  if (node.kind === 'alt') return { kind: 'alt', items: node.items.map((item) => withoutTail(item, dotAll)) };
  const items = node.kind === 'cat' ? node.items : [node];
  const last = items.at(-1);
  if (last?.kind !== 'rep' || last.min !== 0 || last.max !== Infinity || last.item.kind !== 'leaf')
    return node;
  const anything = last.item.source === '[\\s\\S]' || (dotAll && last.item.source === '.');
  return anything ? { kind: 'cat', items: items.slice(0, -1) } : node;
}

/** The growth of the expression and of each lookaround's body, the worst first. */
function worst(node: Node, judge: (part: Node) => Growth): Growth {
  const found = [judge(node), ...bodies(node).map((body) => worst(body, judge))];
  return found.find((one) => one === 'exponential') ?? found.find((one) => one === 'polynomial') ?? 'linear';
}

function bodies(node: Node): Node[] {
  if (node.kind === 'look') return [node.item];
  if (node.kind === 'rep') return bodies(node.item);
  return node.kind === 'cat' || node.kind === 'alt' ? node.items.flatMap(bodies) : [];
}

/** What the analysis of growth does not see: lookarounds, edges, Unicode properties. */
function hasExtras(node: Node): boolean {
  if (node.kind === 'leaf') return leafBorders(node.source).exotic;
  if (node.kind === 'rep') return hasExtras(node.item);
  if (node.kind === 'cat' || node.kind === 'alt') return node.items.some(hasExtras);
  return true;
}
