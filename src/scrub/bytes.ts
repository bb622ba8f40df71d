/** Bytes that are not UTF-8 pass as lone surrogates (byte 0xNN as U+DCNN), so that what is not redacted stays as it was. */
import { isUtf8 } from 'node:buffer';

const escaped = /[\udc80-\udcff]/;

/** Decodes chunk by chunk; a character that is cut in two waits for its rest. */
export function createDecoder(): { push(chunk: Uint8Array): string; end(): string } {
  let rest: Buffer = Buffer.alloc(0);
  return {
    push(chunk) {
      const bytes = Buffer.concat([rest, chunk]);
      const whole = bytes.length - unfinished(bytes);
      rest = bytes.subarray(whole);
      return decode(bytes.subarray(0, whole));
    },
    end() {
      const last = decode(rest);
      rest = Buffer.alloc(0);
      return last;
    },
  };
}

/** The bytes that `createDecoder` made the text from. */
export function encode(text: string): Buffer {
  // With the u flag a surrogate is only matched alone.
  if (!escaped.test(text)) return Buffer.from(text, 'utf8');
  const parts = text.split(/([\udc80-\udcff])/u);
  return Buffer.concat(
    parts.map((part, at) =>
      at % 2 === 0 ? Buffer.from(part, 'utf8') : Buffer.of(part.charCodeAt(0) & 0xff),
    ),
  );
}

function decode(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString('utf8');
  let text = '';
  let from = 0;
  for (let at = 0; at < bytes.length;) {
    const length = sequenceLength(bytes[at]!);
    if (length > 0 && at + length <= bytes.length && isUtf8(bytes.subarray(at, at + length))) {
      at += length;
      continue;
    }
    text += bytes.toString('utf8', from, at) + String.fromCharCode(0xdc00 | bytes[at]!);
    at += 1;
    from = at;
  }
  return text + bytes.toString('utf8', from);
}

function sequenceLength(first: number): number {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return 2;
  if (first >= 0xe0 && first < 0xf0) return 3;
  return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

/** Bytes at the end that may be the beginning of one character. */
function unfinished(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!;
    if (byte >= 0xc0) return sequenceLength(byte) > back ? back : 0;
    if (byte < 0x80) return 0;
  }
  return 0;
}
