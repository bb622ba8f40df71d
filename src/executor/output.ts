/** What a child wrote, on its way to the client: decoded, cleaned, scrubbed, capped. */

/** One stream of a scrubber: text in, the same text without secrets out, possibly later. */
export type ScrubStream = { push(text: string): string; end(): string };

export type OutputOptions = {
  readonly scrub: ScrubStream;
  /** Bytes kept, half of them from the beginning and half from the end. */
  readonly maxBytes: number;
  /** Whole lines, scrubbed, as they come. */
  readonly onLine?: (line: string) => void;
};

export type Captured = { readonly text: string; readonly truncated: boolean };

/** Bytes at the beginning in which a NUL, or much that is no text, makes the whole stream binary. */
const sample = 8 * 1024;
const longestLine = 2000;

export class OutputStream {
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  readonly #cleaner = new Cleaner();
  readonly #options: OutputOptions;
  readonly #kept: HeadAndTail;
  readonly #kind = new KindOfData();
  #line = '';

  constructor(options: OutputOptions) {
    this.#options = options;
    this.#kept = new HeadAndTail(options.maxBytes);
  }

  /** Raw bytes of a child. */
  push(chunk: Buffer): void {
    this.#kind.look(chunk);
    if (this.#kind.binary) return;
    this.#take(this.#decoder.decode(chunk, { stream: true }));
  }

  /** Text of our own. */
  write(text: string): void {
    this.#take(text);
  }

  end(): Captured {
    this.#kind.judge();
    if (this.#kind.binary) return { text: this.#kind.describe(), truncated: true };
    const rest = this.#cleaner.clean(this.#decoder.decode()) + this.#cleaner.end();
    this.#emit(this.#options.scrub.push(rest) + this.#options.scrub.end());
    if (this.#line !== '') this.#options.onLine?.(this.#line);
    return this.#kept.result();
  }

  #take(text: string): void {
    this.#emit(this.#options.scrub.push(this.#cleaner.clean(text)));
  }

  #emit(text: string): void {
    if (text === '') return;
    this.#kept.add(Buffer.from(text));
    if (this.#options.onLine === undefined) return;
    const lines = (this.#line + text).split('\n');
    this.#line = lines.pop()!.slice(0, longestLine);
    for (const line of lines) this.#options.onLine(line.slice(0, longestLine));
  }
}

const longestSequence = 64;

/**
 * Removes terminal sequences and control characters other than newline and tab. It comes before the scrubber, so
 * that no removed character can have hidden a secret from it.
 */
class Cleaner {
  #held = '';

  clean(text: string): string {
    let all = this.#held + text;
    this.#held = '';
    // oxlint-disable-next-line no-control-regex
    const open = /\u001b(?:\[[0-?]*[ -/]*)?$/.exec(all);
    if (open !== null && open[0].length < longestSequence) {
      this.#held = open[0];
      all = all.slice(0, open.index);
    }
    return strip(all);
  }

  end(): string {
    const rest = strip(this.#held);
    this.#held = '';
    return rest;
  }
}

function strip(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return text.replace(/\u001b\[[0-?]*[ -/]*[@-~]|[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '');
}

/** The first and the last bytes of a stream of any length, in constant memory. */
class HeadAndTail {
  readonly #headSize: number;
  readonly #tailSize: number;
  readonly #head: Buffer[] = [];
  #headBytes = 0;
  #tail: Buffer[] = [];
  #tailBytes = 0;
  #total = 0;

  constructor(maxBytes: number) {
    this.#headSize = Math.ceil(maxBytes / 2);
    this.#tailSize = Math.floor(maxBytes / 2);
  }

  add(bytes: Buffer): void {
    this.#total += bytes.length;
    const room = this.#headSize - this.#headBytes;
    if (room > 0) {
      const part = bytes.subarray(0, room);
      this.#head.push(part);
      this.#headBytes += part.length;
    }
    const rest = bytes.subarray(Math.max(room, 0));
    if (rest.length === 0) return;
    this.#tail.push(rest);
    this.#tailBytes += rest.length;
    if (this.#tailBytes > this.#tailSize * 2 + 64 * 1024) this.#shrink();
  }

  result(): Captured {
    this.#shrink();
    const head = Buffer.concat(this.#head);
    const tail = Buffer.concat(this.#tail);
    if (head.length + tail.length === this.#total) {
      return { text: Buffer.concat([head, tail]).toString('utf8'), truncated: false };
    }
    const first = head.subarray(0, wholeBefore(head));
    const last = tail.subarray(wholeAfter(tail));
    const left = this.#total - first.length - last.length;
    const before = first.length === 0 || first.at(-1) === 0x0a ? '' : '\n';
    const text = `${first.toString('utf8')}${before}[${left} bytes left out]\n${last.toString('utf8')}`;
    return { text, truncated: true };
  }

  #shrink(): void {
    const all = Buffer.concat(this.#tail);
    // A copy: a view would keep everything that was joined.
    const kept = Buffer.from(all.subarray(Math.max(0, all.length - this.#tailSize)));
    this.#tail = [kept];
    this.#tailBytes = kept.length;
  }
}

/** Length without a character that was cut at the end. */
function wholeBefore(bytes: Buffer): number {
  let start = bytes.length - 1;
  while (start >= 0 && bytes.length - start < 4 && (bytes[start]! & 0xc0) === 0x80) start--;
  if (start < 0) return 0;
  const lead = bytes[start]!;
  const length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  return bytes.length - start < length ? start : bytes.length;
}

/** Offset after a character that was cut at the beginning. */
function wholeAfter(bytes: Buffer): number {
  let start = 0;
  while (start < bytes.length && start < 3 && (bytes[start]! & 0xc0) === 0x80) start++;
  return start;
}

/** Tells text from data by the first bytes, and counts. */
class KindOfData {
  #seen = 0;
  #first: Buffer = Buffer.alloc(0);
  #binary: boolean | null = null;

  get binary(): boolean {
    return this.#binary === true;
  }

  look(chunk: Buffer): void {
    this.#seen += chunk.length;
    if (this.#binary !== null) return;
    const more = chunk.subarray(0, sample - this.#first.length);
    this.#first = Buffer.concat([this.#first, more]);
    if (more.includes(0)) this.#binary = true;
    else if (this.#first.length === sample) this.judge();
  }

  judge(): void {
    if (this.#binary !== null) return;
    const text = this.#first.toString('utf8');
    const broken = text.split('\ufffd').length - 1;
    this.#binary = broken > 2 && broken > text.length / 10;
  }

  describe(): string {
    const name = signatures.find(([magic]) => this.#first.subarray(0, magic.length).equals(magic))?.[1];
    return `[binary output${name === undefined ? '' : ` (${name})`}, ${this.#seen} bytes, not shown]\n`;
  }
}

const signatures: readonly (readonly [Buffer, string])[] = [
  [Buffer.from('\x89PNG', 'latin1'), 'PNG image'],
  [Buffer.from('\xff\xd8\xff', 'latin1'), 'JPEG image'],
  [Buffer.from('GIF8', 'latin1'), 'GIF image'],
  [Buffer.from('%PDF', 'latin1'), 'PDF document'],
  [Buffer.from('\x1f\x8b', 'latin1'), 'gzip data'],
  [Buffer.from('PK\x03\x04', 'latin1'), 'zip archive'],
  [Buffer.from('\x28\xb5\x2f\xfd', 'latin1'), 'Zstandard data'],
  [Buffer.from('\xfd7zXZ', 'latin1'), 'xz data'],
  [Buffer.from('\x7fELF', 'latin1'), 'ELF program'],
  [Buffer.from('PACK', 'latin1'), 'git pack'],
];
