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
/** Visits of an instruction in one match: some ten milliseconds. */
const maxSteps = 500_000;

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

/** Distinct characters of a value, and which leaves each fits (filled as asked: -1 is not known yet). */
type Alphabet = {
  readonly at: Int32Array;
  readonly characters: readonly string[];
  readonly fits: readonly Int8Array[];
};

function alphabetOf(machine: Machine, value: string): Alphabet {
  const all = Array.from(value);
  const ids = new Map<string, number>();
  const at = new Int32Array(all.length);
  all.forEach((character, index) => {
    const known = ids.get(character);
    if (known === undefined) ids.set(character, ids.size);
    at[index] = known ?? ids.size - 1;
  });
  const fits = machine.leaves.map(() => new Int8Array(ids.size).fill(-1));
  return { at, characters: [...ids.keys()], fits };
}

/** Whether the whole value matches; null when that would take too long to find out. */
export function runMachine(
  machine: Machine,
  value: string,
  test: (leaf: string, character: string) => boolean,
): boolean | null {
  const { at: letters, characters, fits } = alphabetOf(machine, value);
  const count = letters.length;
  const tables: Uint8Array[] = [];
  let steps = 0;

  function leafFits(leaf: number, letter: number): boolean {
    const row = fits[leaf]!;
    if (row[letter] === -1) row[letter] = test(machine.leaves[leaf] ?? '', characters[letter] ?? '') ? 1 : 0;
    return row[letter] === 1;
  }

  function atEdge(edge: '^' | '$' | 'b' | 'B', position: number): boolean {
    if (edge === '^') return position === 0;
    if (edge === '$') return position === count;
    const word = (index: number): boolean =>
      index >= 0 && index < count && /^\w$/.test(characters[letters[index]!] ?? '');
    return (word(position - 1) !== word(position)) === (edge === 'b');
  }

  /** Runs over the value; `everywhere` starts anew at each position. Returns where the end was reached. */
  function scan(program: Program, forward: boolean, everywhere: boolean): Uint8Array | null {
    const reached = new Uint8Array(count + 1);
    const marks = new Int32Array(program.length).fill(-1);
    // A state is pushed at most twice before it is marked, and split once more.
    const pending = new Int32Array(program.length * 4 + 4);
    const waiting = new Int32Array(program.length);
    let top = 0;
    for (let index = 0; index <= count; index++) {
      const position = forward ? index : count - index;
      if (everywhere || index === 0) pending[top++] = 0;
      let held = 0;
      while (top > 0) {
        const at = pending[--top]!;
        if (++steps > maxSteps) return null;
        if (marks[at] === index) continue;
        marks[at] = index;
        const instruction = program[at]!;
        if (instruction.op === 'leaf') waiting[held++] = at;
        else if (instruction.op === 'split') {
          pending[top++] = instruction.b;
          pending[top++] = instruction.a;
        } else if (instruction.op === 'end') reached[position] = 1;
        else if (instruction.op === 'edge') {
          if (atEdge(instruction.edge, position)) pending[top++] = at + 1;
        } else if ((tables[instruction.table]?.[position] === 1) !== instruction.negative)
          pending[top++] = at + 1;
      }
      const letter = letters[forward ? position : position - 1];
      if (letter === undefined) break;
      for (let place = 0; place < held; place++) {
        const at = waiting[place]!;
        const instruction = program[at]!;
        if (instruction.op === 'leaf' && leafFits(instruction.leaf, letter)) pending[top++] = at + 1;
      }
      if (top === 0 && !everywhere) break;
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
