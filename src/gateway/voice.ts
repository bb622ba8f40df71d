/** What a gateway tells its operator, a line at a time. */
export type Voice = {
  /** Shown unless the operator asked for quiet. */
  note(line: string): void;
  warn(line: string): void;
};
