/** A real terminal: one tmux server of its own, one window. */
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { until } from './until.ts';

export class Terminal {
  readonly #server = `wraptool-test-${randomBytes(6).toString('hex')}`;

  constructor(size: { columns: number; rows: number }, command: readonly string[]) {
    const words = [
      '-f',
      '/dev/null',
      'new-session',
      '-d',
      '-x',
      String(size.columns),
      '-y',
      String(size.rows),
    ];
    this.#tmux([...words, ...command]);
  }

  /** What is on the screen and above it. */
  text(): string {
    return this.#tmux(['capture-pane', '-p', '-J', '-S', '-1000']);
  }

  /** What a program set as the terminal's title. */
  title(): string {
    return this.#tmux(['display-message', '-p', '#{pane_title}']).trim();
  }

  async shows(pattern: RegExp, ms?: number): Promise<string> {
    let last = '';
    try {
      return await until(String(pattern), () => (pattern.test((last = this.text())) ? last : null), ms);
    } catch (error) {
      throw new Error(`${(error as Error).message}; the terminal shows:\n${last}`, { cause: error });
    }
  }

  /** Keys by tmux's names, `C-c`, `Enter`, or text. */
  keys(...keys: readonly string[]): void {
    this.#tmux(['send-keys', ...keys]);
  }

  /** Presses a key while the prompt stands there: a program that has just drawn one may not listen yet. */
  async answers(prompt: RegExp, key: string, ms?: number): Promise<void> {
    let pressed = 0;
    const gone = (): boolean => {
      if (!prompt.test(this.#screen())) return true;
      if (Date.now() - pressed > 2000) {
        this.keys(key);
        pressed = Date.now();
      }
      return false;
    };
    await until(`${String(prompt)} is answered`, gone, ms);
  }

  resize(size: { columns: number; rows: number }): void {
    this.#tmux(['resize-window', '-x', String(size.columns), '-y', String(size.rows)]);
  }

  close(): void {
    spawnSync('tmux', ['-L', this.#server, 'kill-server']);
  }

  /** What is on the screen alone. */
  #screen(): string {
    return this.#tmux(['capture-pane', '-p', '-J']);
  }

  #tmux(args: readonly string[]): string {
    const done = spawnSync('tmux', ['-L', this.#server, ...args], {
      encoding: 'utf8',
      env: { ...process.env, TERM: 'xterm-256color', LC_ALL: 'C.UTF-8' },
    });
    if (done.status !== 0) throw new Error(`tmux ${args[0] ?? ''}: ${done.stderr}`);
    return done.stdout;
  }
}
