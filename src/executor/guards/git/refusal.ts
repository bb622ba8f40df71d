/** What the guard will not do; becomes the outcome `guard_refused`. */
export class Refusal extends Error {}

/** A step that ended the call with git's own words; the outcome has its exit code. */
export class Ended extends Error {
  readonly result: { readonly exitCode: number | null; readonly signal: string | null };

  constructor(result: { readonly exitCode: number | null; readonly signal: string | null }) {
    super('git ended the call');
    this.result = result;
  }
}
