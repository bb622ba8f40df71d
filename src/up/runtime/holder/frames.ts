/**
 * Frames on the socket between wraptool and the holder inside: length of what follows (4 bytes, big endian), kind (1),
 * number of the command (4), then bytes. The other side of it may be hostile: a frame has a largest size.
 */
export const kinds = {
  /** → JSON Start. */
  start: 1,
  /** → bytes for stdin. */
  input: 2,
  /** → no more stdin. */
  inputEnd: 3,
  /** → name of a signal for the command's group. */
  signal: 4,
  /** → JSON list of Folder; ← JSON {bad: path | null}. */
  verify: 5,
  /** ← bytes of stdout. */
  output: 6,
  /** ← bytes of stderr. */
  errors: 7,
  /** ← number of bytes of stdin that were taken, in decimal. */
  taken: 8,
  /** ← JSON {code}. */
  exit: 9,
  /** → JSON {rows, columns}: only where a command has a terminal of its own (a session's control socket). */
  resize: 10,
} as const;

export type Kind = (typeof kinds)[keyof typeof kinds];
export type Frame = { readonly kind: number; readonly id: number; readonly bytes: Buffer };

export type Start = {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** For each standard stream, inherit: the holder's own, a terminal; pipe: frames. */
  readonly stdio: readonly ['inherit' | 'pipe', 'inherit' | 'pipe', 'inherit' | 'pipe'];
  /** A session of its own; otherwise it shares the holder's terminal. */
  readonly detached: boolean;
};

export type Folder = { readonly path: string; readonly dev: string; readonly ino: string };

export const largestFrame = 1024 * 1024;
const headerLength = 9;

export function frame(kind: Kind, id: number, bytes: Uint8Array | string = ''): Buffer {
  const body = typeof bytes === 'string' ? Buffer.from(bytes) : bytes;
  const made = Buffer.allocUnsafe(headerLength + body.length);
  made.writeUInt32BE(body.length + headerLength - 4, 0);
  made.writeUInt8(kind, 4);
  made.writeUInt32BE(id, 5);
  made.set(body, headerLength);
  return made;
}

/** Puts frames together from whatever pieces come. Throws on a frame that is too small or too large. */
export class FrameReader {
  #pieces: Buffer[] = [];
  #length = 0;

  push(chunk: Buffer): Frame[] {
    this.#pieces.push(chunk);
    this.#length += chunk.length;
    const frames: Frame[] = [];
    while (this.#length >= headerLength) {
      const size = this.#joined(headerLength).readUInt32BE(0) + 4;
      if (size < headerLength || size > largestFrame + headerLength)
        throw new Error(`a frame of ${size} bytes`);
      if (this.#length < size) break;
      const whole = this.#joined(size);
      frames.push({
        kind: whole.readUInt8(4),
        id: whole.readUInt32BE(5),
        bytes: whole.subarray(headerLength, size),
      });
      this.#pieces = [whole.subarray(size)];
      this.#length -= size;
    }
    return frames;
  }

  /** The first piece, made long enough. */
  #joined(length: number): Buffer {
    if (this.#pieces[0]!.length < length) this.#pieces = [Buffer.concat(this.#pieces)];
    return this.#pieces[0]!;
  }
}
