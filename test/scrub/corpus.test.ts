import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { createScrubber } from '../../src/scrub/scrubber.ts';

type Case = {
  id: string;
  kind: string;
  text: string;
  expected: string;
  secrets: string[];
  note: string;
  chunks?: string[];
  accept?: string[];
  optional?: boolean;
  config_secret?: boolean;
  config_value?: string;
};

const cases = readFileSync(new URL('../corpus/scrub/cases.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Case);

const anonymous = (text: string) => text.replace(/\[redacted:[a-zA-Z0-9-]+\]/g, '[REDACTED]');

function scrubberFor({ config_secret, config_value, secrets }: Case) {
  const values = config_secret === true ? (config_value === undefined ? secrets : [config_value]) : [];
  return createScrubber({ literals: values.map((value, at) => ({ name: `S${at}`, value })), patterns: [] });
}

for (const entry of cases) {
  test(`${entry.id} ${entry.kind}${entry.note === '' ? '' : `: ${entry.note}`}`, () => {
    const scrubber = scrubberFor(entry);
    const good = [entry.expected, ...(entry.accept ?? [])];
    const whole = anonymous(scrubber.scrub(entry.text));
    assert.ok(good.includes(whole), `${JSON.stringify(whole)}\n is none of ${JSON.stringify(good)}`);
    const stream = scrubber.stream();
    const parts = (entry.chunks ?? entry.text.split('')).map((chunk) => stream.push(chunk));
    assert.equal(anonymous(parts.join('') + stream.end()), whole);
  });
}
