/** What becomes of standard output and error when nobody can take what is written to them. */

/** Codes of a reader that has gone: a pipe that was closed, a terminal that hung up. */
const gone = new Set(['EPIPE', 'EIO']);

export type Output = {
  /** Why something could not be written, but for a reader that has gone; null while all is well. */
  readonly fault: NodeJS.ErrnoException | null;
};

/** Without a listener a failed write would end the process in the middle of whatever it does. */
export function watchOutput(): Output {
  let fault: NodeJS.ErrnoException | null = null;
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (!gone.has(error.code ?? '')) fault ??= error;
    });
  return {
    get fault() {
      return fault;
    },
  };
}
