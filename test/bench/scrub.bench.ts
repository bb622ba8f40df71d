/** Speed of scrubbing 1 MB of log text with 200 secrets, 40 patterns and 20 literals: node test/bench/scrub.bench.ts */
import { createScrubber } from '../../src/scrub/scrubber.ts';
import { shapes, shapeSource } from '../../src/scrub/shapes.ts';
import { median, say } from './measure.ts';

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

function random(length: number, seed: number): string {
  let text = '';
  for (let state = seed * 7919 + 13; text.length < length;) {
    state = (state * 1103515245 + 12345) & 0x7fffffff;
    text += letters[(state >> 8) % letters.length];
  }
  return text;
}

const literals = Array.from({ length: 20 }, (_, index) => ({
  name: `L${index}`,
  value: random(24, index + 1),
}));

function logText(bytes: number): string {
  const lines: string[] = [];
  let length = 0;
  const every = Math.floor(bytes / 200);
  for (let number = 0; length < bytes; number++) {
    const secret = Math.floor(length / every) > Math.floor((length - 120) / every);
    const tail = secret
      ? number % 2
        ? `ghp_${random(36, number)}`
        : (literals[number % 20]?.value ?? '')
      : 'ok';
    const line = `2026-11-30T09:45:09.${number} INFO worker[${number}] GET /items/${number}?page=2 200 12ms ${tail}\n`;
    lines.push(line);
    length += line.length;
  }
  return lines.join('').slice(0, bytes);
}

function megabytesPerSecond(bytes: number, work: () => void): number {
  const times = Array.from({ length: 15 }, () => {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1e6;
  });
  return bytes / 1e6 / median(times);
}

const text = logText(1e6);
const scrubber = createScrubber({ literals, patterns: [] });
const expression = new RegExp(
  shapes
    .slice(0, 40)
    .map((shape) => `(?:${shapeSource(shape)})`)
    .concat(literals.map(({ value }) => value))
    .join('|'),
  'g',
);
const ours = megabytesPerSecond(text.length, () => void scrubber.scrub(text));
const native = megabytesPerSecond(text.length, () => void text.replace(expression, '[redacted]'));
say({
  id: 'G15',
  what: 'scrubbing a log, MB a second of processor time',
  value: ours,
  must: 40,
  aim: 100,
  atLeast: true,
});
say({
  id: 'G15',
  what: 'the same / one native alternation',
  value: ours / native,
  must: 0.3,
  aim: 0.8,
  atLeast: true,
});

const worst = shapes.map((shape) => {
  const one = new RegExp(shapeSource(shape), 'g');
  const unit = shape.head.replace(/\(\?:([^|)]*)[^)]*\)|\[([^\]])[^\]]*\]|\\/g, '$1$2');
  const time = (bytes: number): number => {
    const hard = unit.repeat(Math.ceil(bytes / Math.max(1, unit.length))).slice(0, bytes);
    return bytes / 1e6 / megabytesPerSecond(bytes, () => void hard.replace(one, ''));
  };
  return time(128 * 1024) / Math.max(time(16 * 1024), 0.0005);
});
say({
  id: 'G16',
  what: 'the worst shape: eight times the text takes',
  value: Math.max(...worst),
  must: 16,
  aim: 10,
});
