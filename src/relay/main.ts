/** Runs inside the runtime: MCP over stdio for clients (or loopback HTTP with --http PORT), HTTP to the session's gateway. */
import { createBridge } from './bridge.ts';
import { serveLoopback } from './forward.ts';
import { createWriter, readLines } from './lines.ts';
import { readOptions, type Options } from './options.ts';

const lineLimit = 4 * 1024 * 1024;

/** The client shows what comes on stderr in its own log. */
const log = (text: string) => void process.stderr.write(`wraptool relay: ${text}\n`);

async function stdio(options: Options): Promise<void> {
  const bridge = createBridge(options, createWriter(process.stdout), log);
  let ending = false;
  const end = () => {
    if (ending) return;
    ending = true;
    void bridge.close().then(() => process.exit(0));
  };
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(name, end);
  // A client that closed its end reads no answer.
  process.stdout.on('error', () => process.exit(0));
  await readLines(process.stdin, lineLimit, (line) => bridge.take(line));
  end();
}

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2), process.env, process.cwd());
  if (options.http === null) return stdio(options);
  const port = await serveLoopback({ ...options, port: options.http }, log);
  process.stdout.write(`listening on http://127.0.0.1:${port}/mcp\n`);
}

main().catch((error: Error) => {
  log(error.message);
  process.exitCode = 1;
});
