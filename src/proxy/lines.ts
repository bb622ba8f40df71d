/** Byte stream to lines, bounded: what is over the limit is dropped as it comes and never kept. */

export type LineSink = {
  /** Without the newline; never empty. */
  line(bytes: Buffer): void;
  /** Once per line over the limit, when it passes it. */
  overlong(): void;
  /** That line passed `skipLimit` as well. */
  endless(): void;
};

const newline = 0x0a;

export function createLineSplitter(
  limit: number,
  skipLimit: number,
  sink: LineSink,
): { readonly push: (chunk: Buffer) => void; readonly end: () => void } {
  let parts: Buffer[] = [];
  let size = 0;
  let skipped = 0;

  const take = (piece: Buffer) => {
    if (skipped > 0) return skip(piece.length);
    if (size + piece.length <= limit) {
      if (piece.length > 0) parts.push(piece);
      size += piece.length;
      return;
    }
    const all = size + piece.length;
    parts = [];
    size = 0;
    sink.overlong();
    skip(all);
  };
  const skip = (bytes: number) => {
    const before = skipped;
    skipped += bytes;
    if (before <= skipLimit && skipped > skipLimit) sink.endless();
  };
  const finish = () => {
    const line = parts.length === 1 ? parts[0]! : Buffer.concat(parts);
    parts = [];
    size = 0;
    skipped = 0;
    if (line.length > 0) sink.line(line);
  };

  return {
    push(chunk) {
      let from = 0;
      for (let at = chunk.indexOf(newline); at !== -1; at = chunk.indexOf(newline, from)) {
        take(chunk.subarray(from, at));
        finish();
        from = at + 1;
      }
      take(chunk.subarray(from));
    },
    end: finish,
  };
}
