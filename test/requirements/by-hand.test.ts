/** Each requirement that no table of cases holds has a test that names it: "LOAD-001", or "ENV-002 to ENV-046". */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

type Requirement = { readonly what: string; readonly waitsFor?: string };

const requirements = JSON.parse(readFileSync(new URL('by-hand.json', import.meta.url), 'utf8')) as Readonly<
  Record<string, Requirement>
>;
const root = new URL('../', import.meta.url);
const kinds = [...new Set(Object.keys(requirements).map((id) => id.replace(/-\d+$/, '')))].join('|');

/** Every id that a test cites, ranges written out. */
function cited(): ReadonlySet<string> {
  const found = new Set<string>();
  for (const name of readdirSync(root, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.test.ts')) continue;
    const text = readFileSync(new URL(name, root), 'utf8');
    if (name.startsWith('requirements/')) continue;
    for (const [, kind, from, to] of text.matchAll(
      new RegExp(`\\b(${kinds})-(\\d{3})(?: to \\1-(\\d{3}))?`, 'g'),
    ))
      for (let number = Number(from); number <= Number(to ?? from); number++)
        found.add(`${kind}-${String(number).padStart(3, '0')}`);
  }
  return found;
}

void test('every requirement has a test, and every id that a test cites is one', () => {
  const ids = cited();
  const due = Object.keys(requirements).filter((id) => {
    const part = requirements[id]?.waitsFor;
    return part === undefined || existsSync(new URL(`../${part}`, root));
  });
  assert.deepEqual(
    due.filter((id) => !ids.has(id)),
    [],
    'without a test',
  );
  assert.deepEqual(
    [...ids].filter((id) => !(id in requirements)),
    [],
    'unknown',
  );
});
