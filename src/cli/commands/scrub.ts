/** `wraptool scrub < file`: what the gateway would redact in it; without a config the known shapes and places alone. */
import { existsSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Command } from 'commander';
import { configPath, loadConfig } from '../../config/load.ts';
import { createDecoder, encode } from '../../scrub/bytes.ts';
import { configuredScrubber } from '../../scrub/configured.ts';
import { createScrubber, type Scrubber } from '../../scrub/scrubber.ts';

export function register(program: Command): void {
  program
    .command('scrub')
    .description('redact secrets in what is read from stdin')
    .option('--config <file>', 'config file (default: WRAPTOOL_CONFIG, or your own; none is needed)')
    .addHelpText(
      'after',
      '\nEach secret is replaced by [redacted:NAME]; every other byte stays. With a config its scrub.patterns and the values of\n' +
        'scrub.values_from_env count, too.\n',
    )
    .action(async ({ config }: { readonly config?: string }) => {
      await scrubStream(await scrubberOf(config, process.env), process.stdin, process.stdout);
    });
}

/** A config that is named has to be there; your own is read where it is. Errors: those of loading it. */
export async function scrubberOf(
  named: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Scrubber> {
  const file = configPath({ path: named, env });
  const isOwn = named === undefined && (env['WRAPTOOL_CONFIG'] ?? '') === '';
  if (isOwn && !existsSync(file)) return createScrubber({ literals: [], patterns: [] });
  const { config } = await loadConfig({ path: file, env, locations: false });
  const token = env[config.mcp.token_env] ?? '';
  return configuredScrubber(
    config.scrub,
    env,
    token === '' ? [] : [{ name: config.mcp.token_env, value: token }],
  );
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
