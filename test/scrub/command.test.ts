import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { test } from 'node:test';
import fc from 'fast-check';
import { scrubStream } from '../../src/cli/commands/scrub.ts';
import { createDecoder, encode } from '../../src/scrub/bytes.ts';
import { createScrubber } from '../../src/scrub/scrubber.ts';
import { main } from '../support/main.ts';
import { scratch } from '../support/scratch.ts';

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

const run = (env: Record<string, string>, words: readonly string[], input: string) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, 'scrub', ...words], {
    env: { PATH: '/usr/bin:/bin', ...env },
    input,
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
};

test('with a config its patterns and the values that it names count, too; none is needed', () => {
  const home = scratch();
  const file = path.join(home, 'scrub.yaml');
  const text = 'a correct horse battery, Y29ycmVjdCBob3JzZSBiYXR0ZXJ5 and TICKET-1234567\n';
  const gone = 'a [redacted:PHRASE], [redacted:PHRASE] and [redacted:ticket]\n';
  assert.deepEqual(run({ HOME: home }, [], text), { status: 0, stdout: text, stderr: '' });
  writeFileSync(
    file,
    `version: 1
scrub:
  values_from_env: [PHRASE, NOT_SET]
  patterns: [{ name: ticket, regex: 'TICKET-[0-9]{7}' }]
`,
    { mode: 0o600 },
  );
  const env = { HOME: home, PHRASE: 'correct horse battery' };
  for (const [more, words] of [
    [{}, ['--config', file]],
    [{ WRAPTOOL_CONFIG: file }, []],
  ] as const)
    assert.deepEqual(run({ ...env, ...more }, words, text), { status: 0, stdout: gone, stderr: '' });
  mkdirSync(path.join(home, '.config/wraptool'), { recursive: true, mode: 0o700 });
  copyFileSync(file, path.join(home, '.config/wraptool/config.yaml'));
  assert.equal(run(env, [], text).stdout, gone);
  // What was named and is not there, or has an error, is no reason to redact less.
  for (const [words, code] of [
    [['--config', `${file}.gone`], /config_missing|there is no config/],
    [['--config', '/etc/hostname'], /./],
  ] as const) {
    const { status, stdout, stderr } = run(env, words, text);
    assert.deepEqual([status, stdout], [2, '']);
    assert.match(stderr, code);
  }
});
