/** A refused call to the rule that is exactly as wide as it. */
import type { AllowRequest, ExactCall } from '../edit/allow-request.ts';
import type { Policy } from '../policy/compile.ts';
import type { Flag, ToolPolicy, Word } from '../policy/rule.ts';

/** Null where argv does not begin with that subcommand. What no rule and no grammar knows is read as a bare flag. */
export function exactRule(
  policy: Policy,
  tool: string,
  path: readonly string[],
  argv: readonly string[],
): AllowRequest | null {
  const known = policy.tools.get(tool);
  let start = 0;
  while (known?.globalFlags.has(argv[start] ?? '')) start += 1;
  if (path.length === 0) start = 0;
  if (!path.every((word, index) => argv[start + index] === word)) return null;
  const reading = new Reading(known ?? null, path);
  reading.read(argv.slice(start + path.length));
  const { flags, exact } = reading;
  return { tool, subcommand: path.length === 0 ? null : path.join(' '), flags, exact };
}

class Reading {
  readonly #tool: ToolPolicy | null;
  readonly #path: readonly string[];
  readonly #rules: readonly Word['allow'][number][];
  readonly #values = new Map<string, string[]>();
  readonly #times = new Map<string, number>();
  readonly #optional = new Set<string>();
  readonly #detached = new Set<string>();
  readonly #args: string[] = [];
  #end = false;

  constructor(tool: ToolPolicy | null, path: readonly string[]) {
    this.#tool = tool;
    this.#path = path;
    let word: Word | undefined = tool?.root;
    for (const step of path) word = word?.next.get(step);
    this.#rules = word?.allow ?? [];
  }

  get flags(): string[] {
    return [...this.#times.keys()];
  }

  get exact(): ExactCall {
    const repeat = [...this.#times].flatMap(([name, times]) => (times > 1 ? [name] : []));
    return {
      values: Object.fromEntries(this.#values),
      args: this.#args,
      ...(repeat.length === 0 ? {} : { repeat }),
      ...(this.#optional.size === 0 ? {} : { optional: [...this.#optional] }),
      ...(this.#detached.size === 0 ? {} : { detached: [...this.#detached] }),
      ...(this.#end ? { end: true } : {}),
    };
  }

  read(tokens: readonly string[]): void {
    const rest = [...tokens];
    const stops = this.#tool?.grammar.facts.stopsAtPositional?.includes(this.#path.join(' ')) === true;
    for (let token = rest.shift(); token !== undefined; token = rest.shift()) {
      const positional = this.#end || (stops && this.#args.length > 0);
      if (positional || !token.startsWith('-') || token === '-') this.#args.push(token);
      else if (token === '--') this.#end = true;
      else this.#option(token, rest);
    }
  }

  #option(token: string, rest: string[]): void {
    const equals = token.indexOf('=');
    const name = equals < 0 ? token : token.slice(0, equals);
    const single = this.#tool?.grammar.options === 'single-dash';
    const whole = single || token.startsWith('--') || token.length === 2 || this.#known(name) !== undefined;
    if (!whole) this.#cluster(token, rest);
    else if (equals >= 0) this.#add(name, token.slice(equals + 1));
    else this.#named(name, '', rest);
  }

  #cluster(token: string, rest: string[]): void {
    const letters = Array.from(token.slice(1));
    for (const [index, letter] of letters.entries()) {
      const after = letters.slice(index + 1).join('');
      const name = `-${letter}`;
      const takes = this.#takes(name) || (after !== '' && this.#known(name)?.value === 'optional');
      this.#named(name, takes ? after : '', rest);
      if (takes) return;
    }
  }

  /** A flag with what is attached to it, or with the next word where it takes one. */
  #named(name: string, attached: string, rest: string[]): void {
    if (attached !== '') return this.#add(name, attached);
    const next = this.#takes(name) ? rest.shift() : undefined;
    if (next !== undefined) this.#detached.add(name);
    this.#add(name, next ?? null);
  }

  #add(name: string, value: string | null): void {
    this.#times.set(name, (this.#times.get(name) ?? 0) + 1);
    if (value === null) return;
    this.#values.set(name, [...(this.#values.get(name) ?? []), value]);
    const known = this.#known(name)?.value;
    if (known === 'optional' || known === 'open') this.#optional.add(name);
  }

  #known(name: string): Flag | undefined {
    return this.#rules.map(({ terms }) => terms.flags.get(name)).find((flag) => flag !== undefined);
  }

  /** Whether the CLI, as far as it is known, reads the next word as this flag's value. */
  #takes(name: string): boolean {
    const { valueFlags } = this.#tool?.grammar.facts ?? {};
    const listed = [...(valueFlags?.[''] ?? []), ...(valueFlags?.[this.#path.join(' ')] ?? [])];
    return listed.includes(name) || this.#known(name)?.value === 'required';
  }
}
