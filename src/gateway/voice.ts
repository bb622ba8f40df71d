/** What a gateway tells its operator, a line at a time. */
export type Voice = {
  /** Shown unless the operator asked for quiet. */
  note(line: string): void;
  warn(line: string): void;
};

const listedMark = 'its tools were listed, first by ';

/** The line that says that a client with the token has found this gateway. */
export function listedBy(client: string): string {
  return `${listedMark}${client}`;
}

/** What `listedBy` says in a text of lines, or null. */
export function whoListed(text: string): string | null {
  return new RegExp(`${listedMark}(.*)`).exec(text)?.[1] ?? null;
}
