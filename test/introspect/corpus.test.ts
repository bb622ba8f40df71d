/** The parser over real help texts, against the truth that was read by hand; prints precision and recall by family. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, describe, test } from 'node:test';
import { parseHelp } from '../../src/introspect/help/parse.ts';
import type { FlagValue, Help } from '../../src/introspect/help/types.ts';

type Truth = {
  readonly file: string;
  readonly family: string;
  readonly subcommands: Readonly<Record<string, string>>;
  readonly flags: readonly { readonly names: readonly string[]; readonly value: FlagValue }[];
};

const folder = new URL('../corpus/help/', import.meta.url);
const { files } = JSON.parse(readFileSync(new URL('index.json', folder), 'utf8')) as {
  files: Readonly<Record<string, Truth>>;
};

/** Of names: how many are right, how many there are, how many were found. */
type Score = { hits: number; truth: number; found: number };
type Row = { readonly subcommands: Score; readonly flags: Score; texts: number };

const none = (): Score => ({ hits: 0, truth: 0, found: 0 });
const families = new Map<string, Row>();
const total: Row = { subcommands: none(), flags: none(), texts: 0 };
const values = { right: 0, all: 0 };

const precision = ({ hits, found }: Score) => (found === 0 ? 1 : hits / found);
const recall = ({ hits, truth }: Score) => (truth === 0 ? 1 : hits / truth);

function score(truth: ReadonlySet<string>, found: ReadonlySet<string>): Score {
  return { hits: [...truth].filter((name) => found.has(name)).length, truth: truth.size, found: found.size };
}

function add(to: Score, from: Score): void {
  to.hits += from.hits;
  to.truth += from.truth;
  to.found += from.found;
}

function namesOf(help: Help): Map<string, FlagValue> {
  return new Map(
    help.flags.flatMap(({ long, short, value }) =>
      [long, short].filter((name) => name !== null).map((name) => [name, value] as const),
    ),
  );
}

describe('the help text of', () => {
  for (const [name, truth] of Object.entries(files))
    test(`${name} is read: precision and recall of at least 0.8, under 50 ms`, () => {
      const text = readFileSync(new URL(truth.file, folder), 'utf8');
      // The least of three: the machine may be busy.
      const times = [0, 1, 2].map(() => {
        const start = performance.now();
        parseHelp(text);
        return performance.now() - start;
      });
      const help = parseHelp(text);
      const found = namesOf(help);
      const right = new Map(truth.flags.flatMap(({ names, value }) => names.map((one) => [one, value])));
      const subcommands = score(
        new Set(Object.keys(truth.subcommands)),
        new Set(Object.keys(help.subcommands)),
      );
      const flags = score(new Set(right.keys()), new Set(found.keys()));
      const row = families.get(truth.family) ?? { subcommands: none(), flags: none(), texts: 0 };
      families.set(truth.family, row);
      for (const each of [row, total]) {
        each.texts++;
        add(each.subcommands, subcommands);
        add(each.flags, flags);
      }
      for (const [flag, value] of right) {
        if (!found.has(flag)) continue;
        values.all++;
        if (found.get(flag) === value) values.right++;
      }
      for (const [what, one] of Object.entries({ subcommands, flags })) {
        assert.ok(precision(one) >= 0.8, `${what}: precision ${precision(one)}`);
        assert.ok(recall(one) >= 0.8, `${what}: recall ${recall(one)}`);
      }
      assert.ok(Math.min(...times) < 50, `${Math.min(...times)} ms`);
    });

  after(() => {
    const cells = ({ subcommands: s, flags: f, texts }: Row) =>
      [texts, s.truth, precision(s), recall(s), f.truth, precision(f), recall(f)]
        .map((cell, at) => (at === 0 || at === 1 || at === 4 ? String(cell) : cell.toFixed(3)).padStart(9))
        .join('');
    const head = ['texts', 'subs', 'precision', 'recall', 'flags', 'precision', 'recall'];
    console.log(`${'family'.padEnd(16)}${head.map((cell) => cell.padStart(9).slice(0, 10)).join('')}`);
    for (const [family, row] of [...families].toSorted(([a], [b]) => (a < b ? -1 : 1)))
      console.log(`${family.padEnd(16)}${cells(row)}`);
    console.log(`${'all'.padEnd(16)}${cells(total)}`);
    console.log(`values of flags that were found: ${(values.right / values.all).toFixed(3)} right`);
  });
});

test('over all texts precision and recall of subcommands and flags are at least 0.95', () => {
  assert.equal(total.texts, Object.keys(files).length);
  for (const one of [total.subcommands, total.flags]) {
    assert.ok(precision(one) >= 0.95, `precision ${precision(one)}`);
    assert.ok(recall(one) >= 0.95, `recall ${recall(one)}`);
  }
  assert.ok(values.right / values.all >= 0.95, `values ${values.right / values.all}`);
});
