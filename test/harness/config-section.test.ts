/** What a descriptor may say about the client's own config, and what it may not. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { WraptoolError } from '../../src/errors.ts';
import { listDescriptors } from '../../src/harness/descriptor.ts';
import { parseDescriptor } from '../../src/harness/parse.ts';

const head = 'version: 1\nname: probe\ntitle: A probe\nlist_changed: false\n';
const config = (change: string): string =>
  `${head}config:\n  ${[
    "folders: ['~/.probe']",
    'names: [a.json]',
    'format: json',
    'path: [servers]',
    "http: { url: '%{url}' }",
  ]
    .filter((line) => !line.startsWith(`${change.split(':')[0] ?? ''}:`))
    .concat(change === '' ? [] : change)
    .join('\n  ')}\n`;

function problems(text: string): readonly string[] {
  try {
    parseDescriptor(text, 'f.yaml');
  } catch (error) {
    assert.ok(error instanceof WraptoolError);
    return error.problems.map((line) => line.replace(/^f\.yaml:\d+:\d+ /, ''));
  }
  return [];
}

describe('the section is refused when', () => {
  const cases: [name: string, text: string, problem: RegExp][] = [
    [
      'a folder is relative',
      config("folders: ['.probe']"),
      /^config\.folders\[0\]: expected a folder that begins/,
    ],
    ['a folder leads upwards', config("folders: ['~/../etc']"), /expected no "\." or "\.\."/],
    ['a folder is absolute', config('folders: [/etc]'), /expected a folder that begins/],
    ['a name is a path', config('names: [a/b.json]'), /expected a file name/],
    ['the format is unknown', config('format: ini'), /^config\.format: /],
    ['there is no way to its servers', config('path: []'), /^config\.path: /],
    [
      'an entry names a place of a session',
      config("http: { url: '%{workspace}' }"),
      /expected none but %\{url\}/,
    ],
    ['an entry holds a variable of the host', config("http: { url: '%{env:HOME}' }"), /expected none but/],
    ['no transport is said', config('http:'), /config/],
    [
      'TOML is said to take comments',
      config('format: toml').replace('path:', 'comments: true\n  path:'),
      /only for json/,
    ],
    ['nothing runs and nothing is configured', head, /^command: expected at least one word/],
    [
      'something is installed that never runs',
      `${config('')}install: { npm: { package: a, version: 1.0.0 } }\n`,
      /^command: expected at least one word/,
    ],
    [
      'it is installed in two ways',
      `${head}command: [/bin/x]\ninstall: { npm: { package: a, version: 1.0.0 }, manual: { file: x, how: y } }\n`,
      /^install: expected either "npm" or "manual"/,
    ],
  ];
  for (const [name, text, problem] of cases)
    test(name, () => {
      const found = problems(text);
      assert.ok(
        found.some((one) => problem.test(one)),
        JSON.stringify(found),
      );
    });
});

test('a descriptor for config alone needs no command', () => assert.deepEqual(problems(config('')), []));

describe('a built-in descriptor with a section', async () => {
  for (const { name, config: section } of await listDescriptors({ HOME: '/nonexistent' })) {
    if (section === undefined) continue;
    test(`${name} writes no token where the client reads variables in another transport of it`, () => {
      const literal = ['http', 'sse', 'stdio'].filter((key) =>
        JSON.stringify(section[key as 'http'] ?? '').includes('%{token}'),
      );
      assert.ok(literal.length === 0 || ['zed', 'cline', 'auggie'].includes(name), literal.join());
    });
  }
});
