/** What the gateway and its spawner say to each other: length, kind, call, bytes. */

export const kinds = {
  /** Gateway to spawner. start: SpawnRequest as JSON, a newline, then the bytes of stdin. signal: its name. */
  start: 1,
  signal: 2,
  /** Spawner to gateway. started: the pid. stdout, stderr: bytes. exited, failed: JSON. worn: no more calls please. */
  started: 3,
  stdout: 4,
  stderr: 5,
  exited: 6,
  failed: 7,
  worn: 8,
} as const;

export type Kind = (typeof kinds)[keyof typeof kinds];
export type Frame = { readonly kind: number; readonly call: number; readonly body: Buffer };

const headerBytes = 9;

export function encodeFrame(kind: Kind, call: number, body: Uint8Array | string = ''): Buffer {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  const frame = Buffer.allocUnsafe(headerBytes + bytes.length);
  frame.writeUInt32LE(bytes.length, 0);
  frame.writeUInt8(kind, 4);
  frame.writeUInt32LE(call, 5);
  frame.set(bytes, headerBytes);
  return frame;
}

/** Cuts a byte stream back into frames. */
export class FrameReader {
  #chunks: Buffer[] = [];
  #bytes = 0;
  #wanted = headerBytes;

  push(chunk: Buffer): Frame[] {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes < this.#wanted) return [];
    let rest = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks);
    const frames: Frame[] = [];
    for (;;) {
      this.#wanted = rest.length < headerBytes ? headerBytes : headerBytes + rest.readUInt32LE(0);
      if (rest.length < this.#wanted) break;
      frames.push({
        kind: rest.readUInt8(4),
        call: rest.readUInt32LE(5),
        body: rest.subarray(headerBytes, this.#wanted),
      });
      rest = rest.subarray(this.#wanted);
    }
    this.#chunks = rest.length === 0 ? [] : [rest];
    this.#bytes = rest.length;
    return frames;
  }
}
