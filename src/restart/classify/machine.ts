/** State of one classification: what was found, what is left of the budget, what was written where. */
import type { Function as FunctionNode } from 'unbash';
import { Holes } from './holes.ts';
import { Patterns } from './pattern.ts';
import type { Finding, Known, Origin, ReasonClass, Scope } from './types.ts';

/** Standard input: what is left of it. */
export type Input = { rest: string };

export type Shell = {
  readonly vars: Map<string, readonly string[]>;
  readonly functions: Map<string, FunctionNode>;
  readonly aliases: Map<string, string>;
  /** `$0` and the positional parameters. */
  readonly positional: readonly string[];
  readonly scope: Scope;
  /** A decoder, another language or a pipe stands between the text and what runs. */
  readonly indirect: boolean;
  /** The verb is looked up as a program, not as a builtin of the shell. */
  readonly external: boolean;
  /** Functions and aliases that are running, so that none runs in itself. */
  readonly active: ReadonlySet<string>;
};

/** Longest text that is followed; what is longer is unknown. */
export const longestText = 16 * 1024;
const budget = 20_000;
const deepest = 24;

export type Run = {
  /** Runs argv; its standard output. */
  exec(argv: readonly string[], shell: Shell, input: Input): string;
  /** Runs shell text; its standard output. */
  text(source: string, shell: Shell, input: Input): string;
};

export class Machine {
  readonly holes = new Holes();
  readonly files = new Map<string, string>();
  /** Programs under the names that the command copied or linked them to. */
  readonly programs = new Map<string, string>();
  readonly findings: Finding[] = [];
  readonly patterns = new Patterns();
  readonly known: Known;
  /** Something was too large, too deep or not readable: what is left may hide a kill. */
  incomplete = false;
  #left = budget;
  #depth = 0;
  readonly #decoded = new Set<string>();
  #run: Run | null = null;

  constructor(known: Known) {
    this.known = known;
  }

  connect(run: Run): void {
    this.#run = run;
  }

  exec(argv: readonly string[], shell: Shell, input: Input): string {
    return this.#run?.exec(argv, shell, input) ?? '';
  }

  text(source: string, shell: Shell, input: Input): string {
    return this.#run?.text(source, shell, input) ?? '';
  }

  /** False when there is nothing left to spend. */
  charge(cost: number): boolean {
    this.#left -= cost;
    if (this.#left < 0) this.incomplete = true;
    return this.#left >= 0;
  }

  /** Runs `step` one level deeper; '' where that is too deep. */
  deeper(step: () => string): string {
    if (this.#depth >= deepest) {
      this.incomplete = true;
      return '';
    }
    this.#depth += 1;
    try {
      return step();
    } finally {
      this.#depth -= 1;
    }
  }

  /** Records a kill; `reason` as in Finding, seen from where it runs. */
  hit(shell: Shell, reason: ReasonClass | null): void {
    const seen = shell.scope === 'inside' ? null : reason;
    this.findings.push({ reason: seen !== null && shell.indirect ? 'indirect' : seen });
  }

  /** Marks a text as what a decoder made: whoever runs it runs it indirectly. */
  decoded(text: string): string {
    if (text.trim() !== '') this.#decoded.add(text.trim());
    return text;
  }

  wasDecoded(text: string): boolean {
    return this.#decoded.has(text.trim());
  }

  hole(origin: Origin): string {
    return this.holes.of(origin);
  }

  /** Pids or lines whose kill would have that reason. */
  targets(reason: ReasonClass | null, rows?: 'processes' | 'sockets'): string {
    return this.holes.of(rows === undefined ? { of: 'targets', reason } : { of: 'targets', reason, rows });
  }

  /** The text, or unknown where it is too long to be followed. */
  bounded(text: string): string {
    if (text.length <= longestText) return text;
    this.incomplete = true;
    return this.holes.unknown;
  }

  /** What a filter makes of a text that it can't be followed through: whatever it was about, it still is. */
  blurred(text: string): string {
    const about = this.holes.in(text).filter((origin) => origin.of !== 'unknown');
    const worst = about.find((origin) => origin.of === 'targets' && origin.reason !== null) ?? about[0];
    return this.holes.of(worst ?? { of: 'unknown' });
  }
}

export function newShell(): Shell {
  return {
    vars: new Map(),
    functions: new Map(),
    aliases: new Map(),
    positional: ['sh'],
    scope: 'host',
    indirect: false,
    external: false,
    active: new Set(),
  };
}

/** A shell of its own for a text that another program runs: variables are seen, functions are not. */
export function childShell(shell: Shell, change: Partial<Shell> = {}): Shell {
  return {
    ...shell,
    vars: new Map(shell.vars),
    functions: new Map(),
    aliases: new Map(),
    external: false,
    ...change,
  };
}
