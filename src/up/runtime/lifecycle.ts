/** Lifecycle commands of an approved definition, in the container, as the harness's own user, before the harness. */
import { Writable } from 'node:stream';
import { lifecycleCommands } from '../../devcontainer/judge-container.ts';
import type { Json } from '../../devcontainer/jsonc.ts';
import { isObject, own, type JsonObject, textOf } from '../../devcontainer/values.ts';
import { substitute } from '../../devcontainer/variables.ts';
import { WraptoolError } from '../../errors.ts';
import type { CommandOptions, ContainerCommands } from './container-commands.ts';
import type { Progress } from './runtime.ts';

const keptLines = 20;
const longestLine = 400;

export type Step = { readonly name: string; readonly script: readonly string[] };

/** Each container is new: all of them run, in their order, one after the other. Pure. */
export function lifecycleSteps(given: JsonObject, workspace: string): readonly Step[] {
  const text = (value: string): string =>
    substitute(value, { workspace, containerFolder: workspace, env: {} });
  return lifecycleCommands.flatMap((name) => {
    const command = own(given, name);
    const parts: [string, Json][] = isObject(command)
      ? Object.entries(command).map(([key, one]) => [`${name} "${key}"`, one])
      : [[name, command ?? null]];
    return parts.flatMap(([what, one]) => {
      if (typeof one === 'string' && one.trim() !== '') return [{ name: what, script: [text(one), 'sh'] }];
      if (!Array.isArray(one) || one.length === 0) return [];
      return [{ name: what, script: ['exec "$@"', 'sh', ...one.map((word) => text(textOf(word)))] }];
    });
  });
}

/** Errors: runtime_failed, with the last lines that the command said. */
export async function runLifecycle(
  commands: ContainerCommands,
  steps: readonly Step[],
  options: CommandOptions,
  progress: Progress,
): Promise<void> {
  for (const step of steps) {
    progress(step.name);
    const said = new Said((line) => progress(`${step.name}: ${line}`));
    const running = await commands.start(
      ['/bin/sh', '-c', ...step.script],
      { stdin: null, stdout: said, stderr: said },
      options,
    );
    const code = await running.exit;
    if (code !== 0)
      throw new WraptoolError('runtime_failed', `${step.name} in the container ended with ${code}`, {
        problems: said.last(),
        hint: 'mend it in the definition, approve it anew, and start again',
      });
  }
}

/** Lines of a command as they come, the last ones kept. */
class Said extends Writable {
  readonly #lines: string[] = [];
  readonly #each: (line: string) => void;
  #open = '';

  constructor(each: (line: string) => void) {
    super({ decodeStrings: true });
    this.#each = each;
  }

  override _write(bytes: Buffer, _encoding: string, done: () => void): void {
    const lines = `${this.#open}${bytes.toString('utf8')}`.split(/\r?\n|\r/);
    this.#open = (lines.pop() ?? '').slice(-longestLine);
    for (const line of lines.filter((one) => one.trim() !== '')) {
      const short = line.slice(0, longestLine);
      this.#lines.push(short);
      if (this.#lines.length > keptLines) this.#lines.shift();
      this.#each(short);
    }
    done();
  }

  last(): readonly string[] {
    return this.#open.trim() === '' ? this.#lines : [...this.#lines, this.#open];
  }
}
