import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { frame, FrameReader, kinds, largestFrame, type Kind } from '../../../src/up/runtime/holder/frames.ts';

const anyFrame = fc.record({
  kind: fc.constantFrom<Kind>(...Object.values(kinds)),
  id: fc.integer({ min: 0, max: 0xffffffff }),
  bytes: fc.uint8Array({ maxLength: 3000 }),
});

test('frames come out as they went in, however the bytes are cut', () => {
  fc.assert(
    fc.property(
      fc.array(anyFrame, { maxLength: 8 }),
      fc.array(fc.integer({ min: 1, max: 700 }), { minLength: 1 }),
      (frames, cuts) => {
        const whole = Buffer.concat(frames.map((one) => frame(one.kind, one.id, one.bytes)));
        const reader = new FrameReader();
        const out = [];
        for (let at = 0, turn = 0; at < whole.length; turn++) {
          const size = cuts[turn % cuts.length]!;
          out.push(...reader.push(whole.subarray(at, at + size)));
          at += size;
        }
        assert.deepEqual(
          out.map(({ kind, id, bytes }) => ({ kind, id, bytes: [...bytes] })),
          frames.map(({ kind, id, bytes }) => ({ kind, id, bytes: [...bytes] })),
        );
      },
    ),
  );
});

test('a frame of an impossible size is an error and is not waited for', () => {
  for (const size of [0, 4, largestFrame + 6, 0xffffffff]) {
    const header = Buffer.alloc(9);
    header.writeUInt32BE(size, 0);
    assert.throws(() => new FrameReader().push(header), /a frame of/);
  }
});
