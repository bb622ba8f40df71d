/** A secret in a text: `from` is where the context that showed it begins (never after `start`). */
export type Span = {
  readonly name: string;
  readonly from: number;
  readonly start: number;
  readonly end: number;
};
