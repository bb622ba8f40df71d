/** What every start needs, in as few files as can be; what only some do is loaded by them. */
import { direct } from './direct.ts';
import { watchOutput } from './output.ts';

/** Runs the command. The only place that sets the exit code of all. */
export async function start(argv: readonly string[]): Promise<void> {
  // Begun first: the rest is loaded while another process is at work for it.
  const begun = direct(argv);
  const output = watchOutput();
  process.exitCode = begun === null ? await (await import('./program.ts')).run(argv) : await begun;
  process.once('exit', (code) => {
    if (output.fault === null) return;
    process.stderr.write(`error: the output could not be written: ${output.fault.message}\n`);
    if (code === 0) process.exitCode = 1;
  });
}
