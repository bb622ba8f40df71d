/** What a gateway logged. */
import { readLog } from '../../src/log/read.ts';
import type { LogRecord } from '../../src/log/record.ts';

export async function records(dir: string): Promise<LogRecord[]> {
  const found: LogRecord[] = [];
  for await (const { record } of readLog(dir)) found.push(record);
  return found;
}

export type Of<E extends LogRecord['event']> = Extract<LogRecord, { event: E }>;

export async function eventsOf<E extends LogRecord['event']>(dir: string, event: E): Promise<Of<E>[]> {
  return (await records(dir)).filter((record): record is Of<E> => record.event === event);
}
