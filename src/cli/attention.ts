/** Tells whoever looks at a terminal that a request waits: its title, and the bell. */

/** Written to a terminal only, and made of nothing that an agent wrote. */
export function callAttention(stream: NodeJS.WriteStream, id: string): void {
  if (stream.isTTY) stream.write(`\u001B]0;wraptool: ${id} waits\u0007\u0007`);
}
