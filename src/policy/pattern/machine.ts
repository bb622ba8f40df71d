/**
 * Matches in time proportional to (size of the pattern) x (length of the value): all states at once, never back.
 * Lookarounds are tables: for each position whether their body fits there, filled by one scan each.
 */
import type { Node } from './parse.ts';

type Instruction =
  | { readonly op: 'leaf'; readonly leaf: number }
  | { readonly op: 'split'; readonly a: number; readonly b: number }
  | { readonly op: 'edge'; readonly edge: '^' | '$' | 'b' | 'B' }
  | { readonly op: 'look'; readonly table: number; readonly negative: boolean }
  | { readonly op: 'end' };

type Program = readonly Instruction[];
type Look = { readonly program: Program; readonly ahead: boolean };

export type Machine = {
  readonly program: Program;
  readonly looks: readonly Look[];
  readonly leaves: readonly string[];
};

const maxInstructions = 20_000;
/** Visits of an instruction in one match: about 30 ms at most. */
const maxSteps = 1_000_000;

export class MachineTooLarge extends Error {}

export function buildMachine(root: Node): Machine {
  const leaves: string[] = [];
  const looks: Look[] = [];
  let total = 0;

  function program(node: Node, backward: boolean): Program {
    const code: Instruction[] = [];
    const emit = (instruction: Instruction): number => {
      if (++total > maxInstructions) throw new MachineTooLarge();
      return code.push(instruction) - 1;
    };

    /** Everything falls through to the next instruction; a split goes to both of its targets. */
    function visit(part: Node): void {
      if (part.kind === 'leaf') {
        const known = leaves.indexOf(part.source);
        emit({ op: 'leaf', leaf: known >= 0 ? known : leaves.push(part.source) - 1 });
      } else if (part.kind === 'cat')
        for (const item of backward ? part.items.toReversed() : part.items) visit(item);
      else if (part.kind === 'alt') alternatives(part.items);
      else if (part.kind === 'rep') repeat(part.item, part.min, part.max);
      else if (part.kind === 'edge') emit({ op: 'edge', edge: part.edge });
      else {
        // A lookahead is filled from the end of the value backwards, a lookbehind forwards.
        const body = program(part.item, part.ahead);
        emit({
          op: 'look',
          table: looks.push({ program: body, ahead: part.ahead }) - 1,
          negative: part.negative,
        });
      }
    }

    function alternatives(items: readonly Node[]): void {
      const exits: number[] = [];
      items.forEach((item, index) => {
        const fork = index < items.length - 1 ? emit({ op: 'split', a: 0, b: 0 }) : -1;
        visit(item);
        if (fork < 0) return;
        exits.push(emit({ op: 'split', a: 0, b: 0 }));
        code[fork] = { op: 'split', a: fork + 1, b: code.length };
      });
      for (const exit of exits) code[exit] = { op: 'split', a: code.length, b: code.length };
    }

    function repeat(item: Node, min: number, max: number): void {
      for (let index = 0; index < min; index++) visit(item);
      if (max === Infinity) {
        const fork = emit({ op: 'split', a: 0, b: 0 });
        visit(item);
        emit({ op: 'split', a: fork, b: fork });
        code[fork] = { op: 'split', a: fork + 1, b: code.length };
        return;
      }
      const forks: number[] = [];
      for (let index = min; index < max; index++) {
        forks.push(emit({ op: 'split', a: 0, b: 0 }));
        visit(item);
      }
      for (const fork of forks) code[fork] = { op: 'split', a: fork + 1, b: code.length };
    }

    visit(node);
    emit({ op: 'end' });
    return code;
  }

  return { program: program(root, false), looks, leaves };
}

/** Whether the whole value matches; null when that would take too long to find out. */
export function runMachine(
  machine: Machine,
  value: string,
  test: (leaf: string, character: string) => boolean,
): boolean | null {
  const characters = Array.from(value);
  const count = characters.length;
  const known = new Map<string, Int8Array>();
  const tables: Uint8Array[] = [];
  let steps = 0;

  function fits(leaf: number, character: string): boolean {
    let row = known.get(character);
    if (!row) known.set(character, (row = new Int8Array(machine.leaves.length).fill(-1)));
    if (row[leaf] === -1) row[leaf] = test(machine.leaves[leaf] ?? '', character) ? 1 : 0;
    return row[leaf] === 1;
  }

  function atEdge(edge: '^' | '$' | 'b' | 'B', position: number): boolean {
    if (edge === '^') return position === 0;
    if (edge === '$') return position === count;
    const word = (index: number): boolean => /^\w$/.test(characters[index] ?? '');
    return (word(position - 1) !== word(position)) === (edge === 'b');
  }

  /** Runs over the value; `everywhere` starts anew at each position. Returns where the end was reached. */
  function scan(program: Program, forward: boolean, everywhere: boolean): Uint8Array | null {
    const reached = new Uint8Array(count + 1);
    const marks = new Int32Array(program.length).fill(-1);
    let current: number[] = [];
    for (let index = 0; index <= count; index++) {
      const position = forward ? index : count - index;
      const pending = everywhere || index === 0 ? [...current, 0] : current;
      const waiting: number[] = [];
      for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
        if (marks[at] === index) continue;
        marks[at] = index;
        if (++steps > maxSteps) return null;
        const instruction = program[at];
        if (!instruction) continue;
        if (instruction.op === 'split') pending.push(instruction.a, instruction.b);
        else if (instruction.op === 'leaf') waiting.push(at);
        else if (instruction.op === 'end') reached[position] = 1;
        else if (instruction.op === 'edge') {
          if (atEdge(instruction.edge, position)) pending.push(at + 1);
        } else if ((tables[instruction.table]?.[position] === 1) !== instruction.negative)
          pending.push(at + 1);
      }
      const character = characters[forward ? position : position - 1];
      if (character === undefined) break;
      current = [];
      for (const at of waiting) {
        const instruction = program[at];
        if (instruction?.op === 'leaf' && fits(instruction.leaf, character)) current.push(at + 1);
      }
      if (current.length === 0 && !everywhere) break;
    }
    return reached;
  }

  for (const look of machine.looks) {
    const table = scan(look.program, !look.ahead, true);
    if (!table) return null;
    tables.push(table);
  }
  const reached = scan(machine.program, true, false);
  return reached === null ? null : reached[count] === 1;
}
