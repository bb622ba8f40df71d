/** A reporter for node:test that speaks once, at the end: the time of each file, each skip's reason, each failure, counts. */
import type { TestEvent } from 'node:test/reporters';

type Skip = { readonly name: string; readonly reason: string };

export default async function* summary(
  source: AsyncIterable<TestEvent> | Iterable<TestEvent>,
): AsyncGenerator<string> {
  let passed = 0;
  const failed: string[] = [];
  const skipped: Skip[] = [];
  const took: { readonly file: string; readonly seconds: number }[] = [];
  for await (const { type, data } of source) {
    if (type === 'test:summary' && data.file !== undefined)
      took.push({ file: relative(data.file), seconds: data.duration_ms / 1000 });
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    const where = data.file === undefined ? data.name : `${relative(data.file)}: ${data.name}`;
    if (data.skip !== undefined && data.skip !== false)
      skipped.push({ name: where, reason: typeof data.skip === 'string' ? data.skip : 'no reason given' });
    // A suite fails by its tests, which are counted.
    else if (data.details.type === 'suite') continue;
    else if (type === 'test:pass') passed += 1;
    else failed.push(`${where}${howItEnded(data.details.error)}`);
  }
  took.sort((a, b) => b.seconds - a.seconds);
  for (const { file, seconds } of took) yield `${seconds.toFixed(1).padStart(7)} s  ${file}\n`;
  for (const [reason, names] of Map.groupBy(skipped, (skip) => skip.reason)) {
    yield `skipped: ${reason}\n`;
    for (const { name } of names) yield `  ${name}\n`;
  }
  for (const name of failed) yield `failed: ${name}\n`;
  yield `${passed} passed, ${failed.length} failed, ${skipped.length} skipped\n`;
}

/** A file whose process failed, and not one of its tests, has only this to say. */
function howItEnded(error: Error & { exitCode?: number | null; signal?: string | null }): string {
  if (typeof error.signal === 'string') return `, ended by ${error.signal}`;
  return typeof error.exitCode === 'number' ? `, ended with exit code ${error.exitCode}` : '';
}

function relative(file: string): string {
  return file.replace(`${process.cwd()}/`, '');
}
