/**
 * Named steps with progress on stderr: a live list on a terminal, plain lines elsewhere, or JSON events. stdout stays the
 * harness's.
 */
import { escapeHostile, escapeJson } from './hostile.ts';

export type Step = <T>(title: string, work: (say: (message: string) => void) => Promise<T>) => Promise<T>;

/** Longest time without a word, in ms. */
const silenceMs = 1_800;

/** Chooses by whether stderr is a terminal; `json`: events, one per line, on stderr. */
export function createStep(options: { quiet: boolean; json?: boolean }): Step {
  if (options.json) return events;
  if (options.quiet) return (_title, work) => work(() => undefined);
  return process.stderr.isTTY ? live : plain;
}

/** Says something of its own accord when nothing else was said for a while. */
async function watched<T>(
  work: (say: (message: string) => void) => Promise<T>,
  say: (message: string) => void,
  silent: (last: string, ms: number) => void,
): Promise<T> {
  const began = performance.now();
  let last = '';
  const timer = setInterval(() => silent(last, performance.now() - began), silenceMs);
  try {
    return await work((message) => {
      timer.refresh();
      if (message !== last) say(message);
      last = message;
    });
  } finally {
    clearInterval(timer);
  }
}

/** One event for people's programs; what an agent could have written is escaped. */
export function printEvent(event: Readonly<Record<string, unknown>>): void {
  process.stderr.write(`${escapeJson(JSON.stringify({ time: new Date().toISOString(), ...event }))}\n`);
}

const events: Step = async (step, work) => {
  const began = performance.now();
  const tell = (state: string, more: Readonly<Record<string, unknown>> = {}): void =>
    printEvent({ event: 'step', step, state, ms: Math.round(performance.now() - began), ...more });
  tell('started');
  try {
    const value = await watched(
      work,
      (detail) => tell('progress', { detail }),
      (detail) => tell('progress', { detail }),
    );
    tell('done');
    return value;
  } catch (error) {
    tell('failed');
    throw error;
  }
};

const live: Step = async (title, work) => {
  // Only a terminal needs it.
  const { Listr, ListrLogger, PRESET_TIMER, ProcessOutput } = await import('listr2');
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
        timer: PRESET_TIMER,
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
  const value = await watched(
    work,
    (message) => line(`${title}: ${escapeHostile(message)}`),
    (last, ms) => line(`${title}: ${escapeHostile(last || 'at work')} (${Math.round(ms / 1000)} s)`),
  );
  line(`${title}: done (${Math.round(performance.now() - began)} ms)`);
  return value;
};
