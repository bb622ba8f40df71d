/**
 * Runs test files: two at a time, then, each alone, those that measure processes in time. Ends with the summary.
 *   node test/support/run.ts FILES…
 */
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { run } from 'node:test';
import { spec as Spec, type TestEvent } from 'node:test/reporters';
import summary from './summary.ts';

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

async function* events(): AsyncGenerator<TestEvent> {
  const common = { timeout: 900_000, signal: stop.signal };
  if (first.length > 0)
    yield* run({ ...common, files: first, concurrency: Math.min(2, availableParallelism()) });
  if (last.length > 0 && !stop.signal.aborted) yield* run({ ...common, files: last, concurrency: 1 });
}

const spec = new Spec();
spec.pipe(process.stdout, { end: false });
const kept: TestEvent[] = [];
for await (const event of events()) {
  if (event.type === 'test:pass' || event.type === 'test:fail' || event.type === 'test:summary')
    kept.push(event);
  if (event.type === 'test:fail' && !event.data.todo) process.exitCode = 1;
  if (event.type === 'test:summary' && !event.data.success) process.exitCode = 1;
  // each run's own counts: the summary has those of both
  if (event.type === 'test:diagnostic' && event.data.nesting === 0 && event.data.file === undefined) continue;
  if (!spec.write(event)) await once(spec, 'drain');
}
const ended = once(spec, 'end');
spec.end();
await ended;
for await (const line of summary(kept)) process.stdout.write(line);
