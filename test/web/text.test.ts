/** The page shows text by the command line's rules. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import { pathToFileURL } from 'node:url';
import { escapeHostile, lookAlikes, renderArgv } from '../../src/cli/hostile.ts';

type Shown = {
  escapeHostile(text: string): string;
  escapeLines(text: string): string;
  renderArgv(argv: readonly string[]): string;
  lookAlikes(argv: readonly string[]): readonly string[];
};

const folder = path.resolve('src/web/page');
const page = (await import(pathToFileURL(path.join(folder, 'text.js')).href)) as Shown;

test('every character is shown as on the command line', () => {
  for (let code = 0; code <= 0x10ffff; code += 1) {
    const text = String.fromCodePoint(code);
    if (page.escapeHostile(text) !== escapeHostile(text)) assert.fail(`U+${code.toString(16)}`);
  }
});

test('argv is shown as on the command line', () => {
  const lists = [
    [],
    ['git', 'push'],
    ['a b', '"', '\u202e', '\ud800', 'x\ny'],
    ['\\u{202e}', 'm\u0430in', 'ﬁle', 'ü'],
  ];
  for (const argv of lists) {
    assert.equal(page.renderArgv(argv), renderArgv(argv));
    assert.deepEqual(page.lookAlikes(argv), lookAlikes(argv));
  }
});

test('a text of several lines keeps these, and nothing else that is hidden', () => {
  assert.equal(page.escapeLines('a\tb\nc\u202ed\r\n\u001b[31m'), 'a\tb\nc\\u{202e}d\\u{d}\n\\u{1b}[31m');
});

test('no file of the page reads markup, sets a style or handler by text, or evaluates', () => {
  for (const name of readdirSync(folder).filter((one) => one.endsWith('.js')))
    assert.doesNotMatch(
      readFileSync(path.join(folder, name), 'utf8'),
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\(|new Function|srcdoc|\bstyle:|localStorage|document\.cookie/,
      name,
    );
});

test('all that the browser loads is less than 150 kB', () => {
  const bytes = readdirSync(folder).reduce((sum, name) => sum + statSync(path.join(folder, name)).size, 0);
  assert.ok(bytes < 150_000, String(bytes));
});
