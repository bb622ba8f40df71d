/** `wraptool scrub < file`: what the gateway would redact in it. Known shapes and places only; no config is read. */
import type { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Command } from 'commander';
import { createDecoder, encode } from '../../scrub/bytes.ts';
import { createScrubber, type Scrubber } from '../../scrub/scrubber.ts';

export function register(program: Command): void {
  program
    .command('scrub')
    .description('redact secrets in what is read from stdin')
    .addHelpText('after', '\nEach secret is replaced by [redacted:NAME]; every other byte stays.\n')
    .action(async () => {
      await scrubStream(createScrubber({ literals: [], patterns: [] }), process.stdin, process.stdout);
    });
}

/** Bytes from `input` to `output`, each secret replaced. A closed output ends it quietly. */
export async function scrubStream(scrubber: Scrubber, input: Readable, output: Writable): Promise<void> {
  const decoder = createDecoder();
  const stream = scrubber.stream();
  try {
    await pipeline(
      input,
      async function* (chunks: AsyncIterable<Buffer>) {
        for await (const chunk of chunks) yield encode(stream.push(decoder.push(chunk)));
        yield encode(stream.push(decoder.end()) + stream.end());
      },
      output,
      { end: false },
    );
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error;
  }
}
