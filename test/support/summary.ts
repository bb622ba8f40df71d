/** A reporter for node:test that speaks once, at the end: counts, each skip's reason, and in CI what must not be skipped. */
import type { TestEvent } from 'node:test/reporters';

type Skip = { readonly name: string; readonly reason: string };

export default async function* summary(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  let passed = 0;
  const failed: string[] = [];
  const skipped: Skip[] = [];
  for await (const { type, data } of source) {
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    const where =
      data.file === undefined ? data.name : `${data.file.replace(`${process.cwd()}/`, '')}: ${data.name}`;
    if (data.skip !== undefined && data.skip !== false)
      skipped.push({ name: where, reason: typeof data.skip === 'string' ? data.skip : 'no reason given' });
    // A suite fails by its tests, which are counted.
    else if (data.details.type === 'suite') continue;
    else if (type === 'test:pass') passed += 1;
    else failed.push(where);
  }
  for (const [reason, names] of Map.groupBy(skipped, (skip) => skip.reason)) {
    yield `skipped: ${reason}\n`;
    for (const { name } of names) yield `  ${name}\n`;
  }
  for (const name of failed) yield `failed: ${name}\n`;
  yield `${passed} passed, ${failed.length} failed, ${skipped.length} skipped\n`;
}
