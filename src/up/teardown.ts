/** Teardown is a stack: releases run in reverse order, each once, each reported, whatever another one did. */

export type Release = { readonly what: string; readonly run: () => Promise<void> };

export class Teardown {
  readonly #stack: Release[] = [];
  readonly #report: (what: string, error: unknown) => void;
  #running: Promise<void> | null = null;

  constructor(report: (what: string, error: unknown) => void) {
    this.#report = report;
  }

  push(what: string, run: () => Promise<void>): void {
    this.#stack.push({ what, run });
  }

  /** Runs every release; a second call waits for the first. Never rejects: faults go to the report. */
  run(): Promise<void> {
    this.#running ??= this.#unwind();
    return this.#running;
  }

  async #unwind(): Promise<void> {
    for (let release = this.#stack.pop(); release !== undefined; release = this.#stack.pop()) {
      try {
        await release.run();
      } catch (error) {
        this.#report(release.what, error);
      }
    }
  }
}
