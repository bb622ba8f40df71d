/** What one server offers: its declared tools through the filter and the pins. */
import { WraptoolError } from '../errors.ts';
import { byName, isAllowed, judgeTools, type Catalog, type Filter } from './catalog.ts';
import { readKnown, writeKnown } from './known.ts';
import { registeredName } from './names.ts';
import { acceptPin, canonicalJson, checkPin } from './pin.ts';
import type { HiddenTool, McpServerConfig, ToolDefinition, UpstreamTool } from './types.ts';

type Deps = {
  readonly stateDir: string;
  scrub(text: string): string;
  /** The set or a definition changed. */
  changed(): void;
  hid(tool: HiddenTool): void;
  problem(detail: string): void;
};

export class Offer {
  readonly #server: string;
  readonly #deps: Deps;
  #filter: Filter & Pick<McpServerConfig, 'pin'>;
  /** The whole list as the server gave it last; null before. */
  #declared: readonly unknown[] | null = null;
  #visible: readonly ToolDefinition[];
  #hidden: readonly HiddenTool[] = [];
  #missing: readonly string[] = [];
  #registered: readonly UpstreamTool[] | null = null;
  #judged: Promise<unknown> = Promise.resolve();

  constructor(server: string, filter: McpServerConfig, deps: Deps) {
    this.#server = server;
    this.#filter = filter;
    this.#deps = deps;
    this.#visible = this.#known();
  }

  get hidden(): readonly HiddenTool[] {
    return this.#hidden;
  }

  get missing(): readonly string[] {
    return this.#missing;
  }

  get listed(): boolean {
    return this.#declared !== null;
  }

  /** Sorted. The filter applies here too, so that a denial takes effect at once. */
  tools(): readonly ToolDefinition[] {
    return this.#visible.filter(({ name }) => isAllowed(this.#filter, name));
  }

  /** Under their registered names; schemas are as they were declared. */
  registered(): readonly UpstreamTool[] {
    this.#registered ??= this.tools().map((tool) => ({
      ...tool,
      name: registeredName(this.#server, tool.name),
      ...(tool.description === undefined ? {} : { description: this.#deps.scrub(tool.description) }),
    }));
    return this.#registered;
  }

  isAllowed(tool: string): boolean {
    return isAllowed(this.#filter, tool);
  }

  /** Null when the tool may be called. */
  async refusal(tool: string): Promise<string | null> {
    if (this.#hidden.some((one) => one.tool === tool)) await this.judge();
    const hidden = this.#hidden.find((one) => one.tool === tool);
    if (hidden !== undefined)
      return `'${tool}' of upstream server '${this.#server}' is hidden: ${hidden.detail}`;
    if (this.tools().some(({ name }) => name === tool)) return null;
    return `upstream server '${this.#server}' has no tool '${tool}'`;
  }

  setFilter(filter: McpServerConfig): void {
    this.#filter = filter;
    this.#registered = null;
  }

  async declare(declared: readonly unknown[]): Promise<void> {
    this.#declared = declared;
    await this.judge();
  }

  /** Once more with what was declared last: the filter changed, or the operator accepted a definition. */
  judge(): Promise<void> {
    // In turn, so that the last one to publish has seen what is newest.
    const turn = this.#judged.then(() => this.#judgeOnce());
    this.#judged = Promise.allSettled([turn]);
    return turn;
  }

  async accept(tool: string, sha256?: string): Promise<void> {
    await acceptPin(this.#deps.stateDir, this.#server, tool, sha256);
    await this.judge();
  }

  /** It is a convenience: without it the list comes with the first start. */
  #known(): readonly ToolDefinition[] {
    try {
      return readKnown(this.#deps.stateDir, this.#server);
    } catch (error) {
      if (!isSystemError(error)) throw error;
      this.#deps.problem(`the last known list of tools can't be read: ${error.message}`);
      return [];
    }
  }

  async #judgeOnce(): Promise<void> {
    if (this.#declared === null) return;
    const filter = this.#filter;
    const catalog = judgeTools(this.#server, this.#declared, filter);
    const hidden = filter.pin ? await this.#pin(catalog) : [];
    this.#publish(catalog, [...catalog.invalid, ...hidden]);
  }

  async #pin({ tools }: Catalog): Promise<readonly HiddenTool[]> {
    const judged = await Promise.all(tools.map((tool) => this.#pinProblem(tool)));
    return judged.filter((one) => one !== null);
  }

  async #pinProblem(tool: ToolDefinition): Promise<HiddenTool | null> {
    try {
      const state = await checkPin(this.#deps.stateDir, this.#server, tool);
      if (state !== 'changed') return null;
      const detail = 'its definition changed since it was first allowed; the operator has to accept it';
      return { tool: tool.name, reason: 'changed', detail };
    } catch (error) {
      // Whatever kept the pin from being read or written: without one the tool is not shown.
      if (!(error instanceof WraptoolError || error instanceof SyntaxError || isSystemError(error)))
        throw error;
      this.#deps.problem(`pin of '${tool.name}': ${error.message}`);
      return { tool: tool.name, reason: 'unpinned', detail: 'its pin could not be read or stored' };
    }
  }

  #publish(catalog: Catalog, hidden: readonly HiddenTool[]): void {
    const before = canonicalJson(this.#visible);
    const known = new Map(this.#hidden.map((one) => [one.tool, one.reason]));
    const kept = new Set(hidden.map(({ tool }) => tool));
    this.#visible = catalog.tools.filter(({ name }) => !kept.has(name)).toSorted(byName);
    this.#hidden = hidden;
    this.#missing = catalog.missing;
    this.#registered = null;
    for (const one of hidden) if (known.get(one.tool) !== one.reason) this.#deps.hid(one);
    if (canonicalJson(this.#visible) === before) return;
    writeKnown(this.#deps.stateDir, this.#server, this.#visible).catch((error: unknown) => {
      if (!isSystemError(error)) throw error;
      this.#deps.problem(`the list of tools can't be kept: ${error.message}`);
    });
    this.#deps.changed();
  }
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && typeof (error as NodeJS.ErrnoException).code === 'string';
}
