const intervalMs = 250;
const mostCharacters = 2000;

/** Joins lines that come fast, so that a client gets a few messages a second with the newest lines. */
export class Progress {
  readonly #report: (text: string) => void;
  #lines: string[] = [];
  #characters = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(report: (text: string) => void) {
    this.#report = report;
  }

  add(line: string): void {
    this.#lines.push(line);
    this.#characters += line.length + 1;
    while (this.#characters > mostCharacters && this.#lines.length > 1) {
      this.#characters -= this.#lines.shift()!.length + 1;
    }
    this.#timer ??= setTimeout(() => this.#flush(), intervalMs);
  }

  end(): void {
    clearTimeout(this.#timer);
    if (this.#lines.length > 0) this.#flush();
  }

  #flush(): void {
    this.#timer = undefined;
    const text = this.#lines.join('\n');
    this.#lines = [];
    this.#characters = 0;
    this.#report(text);
  }
}
