/** What benchmarks share: medians of interleaved calls, processor time of a process tree, and goals printed. */
import { readdirSync, readFileSync } from 'node:fs';

export function at(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? NaN;
}

export function median(values: readonly number[]): number {
  return at(values, 0.5);
}

export async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/** Medians in ms. Call by call in turn, so that a neighbour's burst hits all alike; the first tenth warms up. */
export async function interleaved<Name extends string>(
  works: Readonly<Record<Name, () => Promise<unknown>>>,
  rounds: number,
): Promise<Record<Name, number>> {
  const names = Object.keys(works) as Name[];
  const times = new Map(names.map((name) => [name, [] as number[]]));
  for (let round = 0; round < rounds; round++)
    for (const name of names) times.get(name)?.push(await timed(works[name]));
  const medians = names.map((name) => [name, median((times.get(name) ?? []).slice(Math.floor(rounds / 10)))]);
  return Object.fromEntries(medians) as Record<Name, number>;
}

export async function throughput(
  work: () => Promise<unknown>,
  concurrency: number,
  total: number,
): Promise<{ perSecond: number; fairness: number }> {
  const times: number[] = [];
  let left = total;
  const began = performance.now();
  const worker = async (): Promise<void> => {
    while (left-- > 0) times.push(await timed(work));
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  const seconds = (performance.now() - began) / 1000;
  return { perSecond: total / seconds, fairness: at(times, 0.99) / median(times) };
}

/** Processor time in ms of a process, what it started and what has ended of it. */
export function cpuOfTree(root: number): number {
  const stats = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => statOf(Number(name)) ?? []);
  const inTree = (pid: number): boolean => {
    if (pid === root) return true;
    const parent = stats.find((stat) => stat.pid === pid)?.parent;
    return parent !== undefined && parent > 1 && inTree(parent);
  };
  return stats.filter(({ pid }) => inTree(pid)).reduce((sum, { ticks }) => sum + ticks * 10, 0);
}

function statOf(pid: number): { pid: number; parent: number; ticks: number } | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    return { pid, parent: fields[1] ?? 0, ticks: fields.slice(11, 15).reduce((a, b) => a + b, 0) };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH') return null;
    throw error;
  }
}

export function residentMiB(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}

export type Goal = {
  /** Of the table of goals; a figure without one is only shown. */
  readonly id?: string;
  readonly what: string;
  readonly value: number;
  readonly unit?: string;
  readonly must?: number;
  readonly aim?: number;
  /** Greater is better. */
  readonly atLeast?: boolean;
};

/** One line: the goal, what was measured, and whether it is met. */
export function say({ id = '', what, value, unit = '', must, aim, atLeast = false }: Goal): void {
  const sign = atLeast ? '>=' : '<=';
  const meets = (limit: number): boolean => (atLeast ? value >= limit : value <= limit);
  const verdict =
    must === undefined ? '' : meets(aim ?? must) ? 'aim met' : meets(must) ? 'must met' : 'MISSED';
  const limits =
    must === undefined ? '' : `must ${sign} ${must}${aim === undefined ? '' : `, aim ${sign} ${aim}`}`;
  const figure = `${value.toFixed(value < 100 ? 2 : 0)}${unit}`;
  process.stdout.write(
    `${id.padEnd(4)} ${what.padEnd(62)} ${figure.padStart(10)}  ${limits.padEnd(26)} ${verdict}`.trimEnd() +
      '\n',
  );
}
