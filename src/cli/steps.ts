/** Named steps with progress on stderr: a live list on a terminal, plain lines elsewhere. stdout stays the harness's. */
import { Listr, ListrLogger, ProcessOutput } from 'listr2';
import { escapeHostile } from './hostile.ts';

export type Step = <T>(title: string, work: (say: (message: string) => void) => Promise<T>) => Promise<T>;

/** Chooses by whether stderr is a terminal. */
export function createStep(options: { quiet: boolean }): Step {
  if (options.quiet) return (_title, work) => work(() => undefined);
  return process.stderr.isTTY ? live : plain;
}

const live: Step = async (title, work) => {
  let result: { value: Awaited<ReturnType<typeof work>> } | undefined;
  const list = new Listr(
    [
      {
        title,
        task: async (_context, task) => {
          result = {
            value: await work((message) => {
              task.output = escapeHostile(message);
            }),
          };
        },
        rendererOptions: { bottomBar: 1, persistentOutput: false },
      },
    ],
    {
      // Its SIGINT handler would exit behind the back of our teardown.
      registerSignalListeners: false,
      rendererOptions: {
        showErrorMessage: false,
        logger: new ListrLogger({ processOutput: new ProcessOutput(process.stderr, process.stderr) }),
      },
    },
  );
  await list.run();
  if (result === undefined) throw new Error(`the step "${title}" ended without a result`);
  return result.value;
};

const plain: Step = async (title, work) => {
  const began = performance.now();
  const line = (text: string) => process.stderr.write(`wraptool: ${text}\n`);
  let last = '';
  const value = await work((message) => {
    if (message !== last) line(`${title}: ${escapeHostile(message)}`);
    last = message;
  });
  line(`${title}: done (${Math.round(performance.now() - began)} ms)`);
  return value;
};
