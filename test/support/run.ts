/**
 * Runs test files: two at a time, then, each alone, those that measure processes in time. One or two files of many that
 * failed are run once more, alone: what passes then is named as unsteady, which is a defect too, but no regression.
 * Ends with the summary.
 *   node test/support/run.ts FILES…
 */
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { run } from 'node:test';
import { spec as Spec, type TestEvent } from 'node:test/reporters';
import { failed, filesToRepeat } from './again.ts';
import { summary } from './summary.ts';

/** These hold processes to seconds: whatever else runs would be measured too. */
const alone = ['test/e2e/**', 'test/executor/run.test.ts', 'test/up/runtime/{conformance,owner}.test.ts'];

const files = process.argv.slice(2).map((file) => path.resolve(file));
const isAlone = (file: string) =>
  alone.some((pattern) => path.matchesGlob(path.relative('.', file), pattern));
const { alone: last = [], together: first = [] } = Object.groupBy(files, (file) =>
  isAlone(file) ? 'alone' : 'together',
);

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());

async function* events(some: readonly string[], concurrency: number): AsyncGenerator<TestEvent> {
  if (some.length > 0 && !stop.signal.aborted)
    yield* run({ files: [...some], concurrency, timeout: 900_000, signal: stop.signal });
}

const spec = new Spec();
spec.pipe(process.stdout, { end: false });

/** Shows the events as they come; gives those that count. */
async function shown(source: AsyncIterable<TestEvent>): Promise<TestEvent[]> {
  const kept: TestEvent[] = [];
  for await (const event of source) {
    if (event.type === 'test:pass' || event.type === 'test:fail' || event.type === 'test:summary')
      kept.push(event);
    // each run's own counts: the summary has those of all
    if (event.type === 'test:diagnostic' && event.data.nesting === 0 && event.data.file === undefined)
      continue;
    if (!spec.write(event)) await once(spec, 'drain');
  }
  return kept;
}

const firstTime = [
  ...(await shown(events(first, Math.min(2, availableParallelism())))),
  ...(await shown(events(last, 1))),
];
const again = filesToRepeat(firstTime, files.length);
const secondTime = await shown(events(again, 1));
const ended = once(spec, 'end');
spec.end();
await ended;
for (const line of summary(firstTime, secondTime)) process.stdout.write(line);
if (stop.signal.aborted || failed(firstTime, secondTime)) process.exitCode = 1;
