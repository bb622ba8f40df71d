/** One command that would run. */
import type { Input, Machine, Shell } from '../machine.ts';

export type Call = {
  readonly m: Machine;
  /** As written: a name, or a path. */
  readonly name: string;
  readonly args: readonly string[];
  readonly shell: Shell;
  readonly input: Input;
};

/** Says what it would hit and gives what it would print. */
export type Verb = (call: Call) => string;

export type Verbs = Readonly<Record<string, Verb>>;

/** For each name the same. */
export function all(names: string, verb: Verb): Verbs {
  return Object.fromEntries(names.split(' ').map((name) => [name, verb]));
}

/** The program that a name or path stands for. */
export function programOf(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}
