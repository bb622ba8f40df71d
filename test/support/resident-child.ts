/** The command line held open: takes argv after argv from its parent, so that hundreds of runs need one process. */
import { run } from '../../src/cli/program.ts';

type Streams = { stdout: string; stderr: string };

function capture(into: Streams): void {
  for (const name of ['stdout', 'stderr'] as const)
    process[name].write = ((text: string | Uint8Array) => {
      into[name] += typeof text === 'string' ? text : Buffer.from(text).toString();
      return true;
    }) as typeof process.stdout.write;
}

process.on('message', (argv: string[]) => {
  const said: Streams = { stdout: '', stderr: '' };
  capture(said);
  process.exitCode = undefined;
  void run(argv).then((code) => process.send?.({ code, ...said }));
});
