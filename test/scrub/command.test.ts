import assert from 'node:assert/strict';
import { PassThrough, Readable } from 'node:stream';
import { test } from 'node:test';
import fc from 'fast-check';
import { scrubStream } from '../../src/cli/commands/scrub.ts';
import { createDecoder, encode } from '../../src/scrub/bytes.ts';
import { createScrubber } from '../../src/scrub/scrubber.ts';

test('any bytes, in any chunks, come out of the decoder and the encoder as they were', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.oneof(
          fc.uint8Array({ maxLength: 9 }),
          fc.string({ unit: 'binary' }).map((text) => new Uint8Array(Buffer.from(text))),
        ),
      ),
      (chunks) => {
        const decoder = createDecoder();
        const text = chunks.map((chunk) => decoder.push(chunk)).join('') + decoder.end();
        assert.deepEqual(encode(text), Buffer.concat(chunks));
      },
    ),
  );
});

test('the command redacts, and keeps colours, carriage returns and bytes that are no text', async () => {
  const token = `ghp_${'a1B2'.repeat(9)}`;
  const before = Buffer.concat([
    Buffer.from('\u001b[31mé\r'),
    Buffer.of(0xff, 0x00, 0xc3, 0x9b),
    Buffer.from(`\n${token}\r\n`),
  ]);
  const output = new PassThrough();
  await scrubStream(
    createScrubber({ literals: [], patterns: [] }),
    Readable.from([before.subarray(0, 12), before.subarray(12)]),
    output,
  );
  const after = Buffer.concat((output.end(), await output.toArray()) as Buffer[]);
  assert.deepEqual(
    after,
    Buffer.concat([
      Buffer.from('\u001b[31mé\r'),
      Buffer.of(0xff, 0x00, 0xc3, 0x9b),
      Buffer.from('\n[redacted:github-token]\r\n'),
    ]),
  );
});
