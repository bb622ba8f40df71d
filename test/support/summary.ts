/** What is said once, at the end of the tests: the time of each file, each skip's reason, each failure, counts. */
import type { TestEvent } from 'node:test/reporters';
import { inForce } from './again.ts';

type Skip = { readonly name: string; readonly reason: string };

/** Lines; `again` are the events of files that were run a second time, which counts. */
export function* summary(first: readonly TestEvent[], again: readonly TestEvent[]): Generator<string> {
  let passed = 0;
  const counting = inForce(first, again);
  const failed = failuresOf(counting);
  const skipped: Skip[] = [];
  const took: { readonly file: string; readonly seconds: number }[] = [];
  for (const { type, data } of counting) {
    if (type === 'test:summary' && data.file !== undefined)
      took.push({ file: relative(data.file), seconds: data.duration_ms / 1000 });
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    if (isSkipped(data))
      skipped.push({
        name: placeOf(data),
        reason: typeof data.skip === 'string' ? data.skip : 'no reason given',
      });
    else if (data.details.type !== 'suite' && type === 'test:pass') passed += 1;
  }
  took.sort((a, b) => b.seconds - a.seconds);
  for (const { file, seconds } of took) yield `${seconds.toFixed(1).padStart(7)} s  ${file}\n`;
  for (const [reason, names] of Map.groupBy(skipped, (skip) => skip.reason)) {
    yield `skipped: ${reason}\n`;
    for (const { name } of names) yield `  ${name}\n`;
  }
  const unsteady = failuresOf(first).filter((name) => !failed.includes(name));
  for (const name of unsteady) yield `unsteady, failed once, passed when run again: ${name}\n`;
  for (const name of failed) yield `failed: ${name}\n`;
  yield `${passed} passed, ${failed.length} failed, ${skipped.length} skipped\n`;
}

/** A suite fails by its tests, which are counted. */
function failuresOf(events: readonly TestEvent[]): string[] {
  return events.flatMap(({ type, data }) =>
    type === 'test:fail' && data.details.type !== 'suite' && !isSkipped(data)
      ? [`${placeOf(data)}${howItEnded(data.details.error)}`]
      : [],
  );
}

const isSkipped = ({ skip }: { readonly skip?: string | boolean }): boolean =>
  skip !== undefined && skip !== false;

function placeOf({ file, name }: { readonly file?: string; readonly name: string }): string {
  return file === undefined ? name : `${relative(file)}: ${name}`;
}

/** A file whose process failed, and not one of its tests, has only this to say. */
function howItEnded(error: Error & { exitCode?: number | null; signal?: string | null }): string {
  if (typeof error.signal === 'string') return `, ended by ${error.signal}`;
  return typeof error.exitCode === 'number' ? `, ended with exit code ${error.exitCode}` : '';
}

function relative(file: string): string {
  return file.replace(`${process.cwd()}/`, '');
}
