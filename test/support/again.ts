/** Files that failed are run once more: what of them counts. */
import type { TestEvent } from 'node:test/reporters';

/** More than these, and it is no matter of luck. */
const most = 2;

const fileOf = ({ data }: TestEvent): string | undefined =>
  data !== undefined && 'file' in data ? data.file : undefined;

const isFailure = ({ type, data }: TestEvent): boolean =>
  (type === 'test:fail' && !data.todo) || (type === 'test:summary' && !data.success);

/** The files to run again: none, if there are many, or the run was of few. A failure without a file is never repeated. */
export function filesToRepeat(events: readonly TestEvent[], ran: number): string[] {
  const failures = events.filter((event) => isFailure(event) && !isWhole(event));
  const files = new Set(failures.map(fileOf));
  if (files.size === 0 || files.size > most || files.has(undefined) || ran < 10 * files.size) return [];
  return [...files].filter((file) => file !== undefined);
}

/** The summary of a run, not of a file: it fails with any of its files. */
const isWhole = ({ type, data }: TestEvent): boolean => type === 'test:summary' && data.file === undefined;

/** Whether something failed that did not pass afterwards. */
export function failed(first: readonly TestEvent[], second: readonly TestEvent[]): boolean {
  return inForce(first, second).some((event) => isFailure(event) && !isWhole(event));
}

/** What counts: of a file that was run again, its second run. */
export function inForce(first: readonly TestEvent[], second: readonly TestEvent[]): TestEvent[] {
  const repeated = new Set(second.map(fileOf).filter((file) => file !== undefined));
  return [...first.filter((event) => !repeated.has(fileOf(event) ?? '')), ...second];
}
