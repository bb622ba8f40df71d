import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, test } from 'node:test';
import { parse as parseToml } from 'smol-toml';
import { parse as parseYaml } from 'yaml';
import { missingContainers, removeEntry, setEntry } from '../../src/edit/entry.ts';
import { addAllowRule } from '../../src/edit/policy.ts';
import { apply, inverse } from '../../src/edit/splice.ts';
import type { Edited, Format, Grammar, Json, Outcome } from '../../src/edit/types.ts';
import { jsonFile, policy, request, runs, tomlFile, type RuleData } from './generate.ts';

function accepted(outcome: Outcome): Edited {
  assert.ok(outcome.ok, JSON.stringify(outcome));
  return outcome;
}

function body(text: string): string {
  return text.replace(/^\uFEFF/, '');
}

/** Undoing gives the old bytes; nothing but white space, empty values and commas was taken away; the line ends fit. */
function assertOnlyAdds(before: string, edited: Edited): void {
  assert.equal(apply(body(edited.text), inverse(edited.changes)), body(before));
  assert.equal(edited.text.startsWith('\uFEFF'), before.startsWith('\uFEFF'));
  for (const { remove } of edited.changes) assert.match(remove, /^\s*(\[\s*\]|\{\s*\}|~|null|)\s*$/);
  if (before !== '' && !/^\uFEFF?$/.test(before))
    assert.equal(edited.text.endsWith('\n'), before.endsWith('\n'));
  const lone = /(?<!\r)\n/;
  if (before.includes('\r\n') && !lone.test(before)) assert.doesNotMatch(edited.text, lone);
  if (before.includes('\n') && !before.includes('\r')) assert.ok(!edited.text.includes('\r'));
}

/** Texts of comments, for a notation whose strings hold none of the marks that the generator puts into comments. */
function comments(text: string, shape: RegExp): string[] {
  return [...text.matchAll(shape)].map(([comment]) => comment.trim());
}

const hashes = /(?<=\s|^)#.*/gm;

function isSubsequence(part: readonly string[], whole: readonly string[]): boolean {
  let at = 0;
  for (const one of whole) if (one === part[at]) at += 1;
  return at === part.length;
}

void describe('a rule in a policy of any layout', () => {
  void test('is there, all else is as it was, a second time changes nothing, undo is the identity', () => {
    fc.assert(
      fc.property(policy, request, ({ text, rules }, asked) => {
        const edited = accepted(addAllowRule(text, asked));
        assertOnlyAdds(text, edited);
        const flags = [...new Set(asked.flags)];
        const same = rules.filter(({ subcommand }) => subcommand === asked.subcommand);
        const expected = parseYaml(body(text)) as { tools: { git: { allow?: RuleData[] | null } } };
        const git = expected.tools.git;
        const first = rules.indexOf(same[0] as RuleData);
        if (same.length === 0)
          git.allow = [
            ...(git.allow ?? []),
            { subcommand: asked.subcommand, ...(flags.length > 0 ? { flags } : {}) },
          ];
        else if (!same.some((rule) => flags.every((flag) => (rule.flags ?? []).includes(flag)))) {
          const had = same[0]?.flags ?? [];
          const target = (git.allow ?? [])[first] as RuleData;
          target.flags = [...had, ...flags.filter((flag) => !had.includes(flag))];
        }
        assert.deepEqual(parseYaml(body(edited.text)), expected);
        const old = parseYaml(body(edited.text), { version: '1.1' }) as typeof expected;
        assert.deepEqual(old.tools.git.allow, expected.tools.git.allow);
        assert.ok(isSubsequence(comments(text, hashes), comments(edited.text, hashes)));
        assert.deepEqual(accepted(addAllowRule(edited.text, asked)).changes, []);
      }),
      runs,
    );
  });
  void test('changes at most one line that was there', () => {
    fc.assert(
      fc.property(policy, request, ({ text }, asked) => {
        const { diff } = accepted(addAllowRule(text, asked));
        assert.ok(diff.split('\n').filter((line) => line.startsWith('-')).length <= 1, diff);
      }),
      runs,
    );
  });
});

const value = { url: 'http://h/mcp', headers: { A: 'Bearer ${T}' }, list: ['x'], empty: {} };
const other = { url: 'http://h/other' };

function roundTrip(
  format: Format,
  text: string,
  path: readonly string[],
  grammar: Grammar | undefined,
  read: (text: string) => unknown,
  marks: RegExp,
): void {
  const first = setEntry(format, text, path, value, grammar);
  if (!first.ok) {
    assert.equal(first.code, 'wrong_type');
    return;
  }
  const before = read(body(text)) as Record<string, Json>;
  const had = at(before, path) !== undefined;
  if (!had) assertOnlyAdds(text, first);
  assert.equal(apply(body(first.text), inverse(first.changes)), body(text));
  assert.deepEqual(at(read(body(first.text)), path), value);
  if (!had) assert.ok(isSubsequence(comments(text, marks), comments(first.text, marks)));
  assert.deepEqual(accepted(setEntry(format, first.text, path, value, grammar)).changes, []);
  const second = accepted(setEntry(format, first.text, path, other, grammar));
  assert.deepEqual(at(read(body(second.text)), path), other);
  const made = missingContainers(format, text, path, grammar);
  const gone = accepted(removeEntry(format, second.text, path, made, grammar));
  assert.equal(at(read(body(gone.text)), path), undefined);
  if (had) return;
  assert.deepEqual(comments(gone.text, marks), comments(text, marks));
  // What was null or empty may now be an empty object; the rest is as it was.
  assert.deepEqual(pruned(read(body(gone.text)), path), pruned(before, path));
}

function at(data: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (node, key) =>
      typeof node === 'object' && node !== null && Object.hasOwn(node, key)
        ? (node as Record<string, unknown>)[key]
        : undefined,
    data,
  );
}

/** A copy of the data without those containers of the path that are null or empty. */
function pruned(data: unknown, path: readonly string[]): unknown {
  const [key, ...rest] = path;
  if (key === undefined || typeof data !== 'object' || data === null || Array.isArray(data)) return data;
  const entries = Object.entries(data).map(
    ([name, value]) => [name, name === key ? pruned(value, rest) : (value as unknown)] as const,
  );
  const blank = (value: unknown): boolean =>
    value === null || (typeof value === 'object' && Object.keys(value).length === 0);
  return Object.fromEntries(entries.filter(([name, value]) => name !== key || !blank(value)));
}

void describe('an entry in a client’s config of any layout: add, add again, replace, remove', () => {
  void test('JSON and JSONC', () => {
    fc.assert(
      fc.property(
        jsonFile,
        fc.constantFrom(['mcp', 'w'], ['a', 'mcp', 'w'], ['w']),
        ({ text, data, grammar }, path) => {
          const read = (source: string): unknown => {
            const plain = source.replace(
              /("(?:[^"\\]|\\.)*")|\/\/[^\r\n]*|\/\*[^]*?\*\//g,
              (_, string: string | undefined) => string ?? ' ',
            );
            return JSON.parse(
              plain.replace(
                /("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])/g,
                (_, string: string | undefined) => string ?? '',
              ),
            );
          };
          assert.deepEqual(read(body(text)), JSON.parse(JSON.stringify(data)));
          roundTrip(
            grammar.comments ? 'jsonc' : 'json',
            text,
            path,
            grammar,
            read,
            /\/\/ (?!no comment)[^\r\n]*|\/\*[^]*?\*\//g,
          );
        },
      ),
      runs,
    );
  });
  void test('TOML', () => {
    fc.assert(
      fc.property(tomlFile, (text) => {
        const read = (source: string): unknown => JSON.parse(JSON.stringify(parseToml(source)));
        roundTrip('toml', text, ['mcp', 'w'], undefined, read, hashes);
      }),
      runs,
    );
  });
  void test('YAML', () => {
    fc.assert(
      fc.property(
        policy,
        fc.constantFrom(['tools', 'w'], ['mcp', 'w'], ['tools', 'git', 'w']),
        ({ text }, path) => {
          roundTrip('yaml', text, path, undefined, (source) => parseYaml(source) as unknown, hashes);
        },
      ),
      runs,
    );
  });
});

void test('an edit is undone by its inverse, whatever the changes', () => {
  const changes = fc.array(fc.tuple(fc.nat(40), fc.nat(5), fc.string({ maxLength: 4 })), { maxLength: 5 });
  fc.assert(
    fc.property(fc.string({ minLength: 40, maxLength: 60 }), changes, (text, drawn) => {
      let free = 0;
      const list = drawn.flatMap(([skip, length, insert]) => {
        const start = free + skip;
        free = start + length + 1;
        return free > text.length ? [] : [{ at: start, remove: text.slice(start, start + length), insert }];
      });
      assert.equal(apply(apply(text, list), inverse(list)), text);
    }),
    runs,
  );
});
