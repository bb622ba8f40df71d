import assert from 'node:assert/strict';
import { test } from 'node:test';
import { namedSources } from '../../src/devcontainer/dockerfile.ts';

const rows: readonly [what: string, text: string, sources: readonly string[] | null][] = [
  ['none', 'FROM a\nRUN b', []],
  ['COPY and ADD', 'FROM a\nCOPY b c /d/\nadd e f', ['b', 'c', 'e']],
  ['flags are passed over', 'COPY --chown=1:1 --chmod=755 b /c', ['b']],
  ['another stage is not the context', 'COPY --from=build b /c', []],
  ['lines that go on, comments between', 'COPY b \\\n  # x\n  c \\\n  /d', ['b', 'c']],
  ['another escape', '# escape=`\nCOPY b `\n  c', ['b']],
  ['the JSON form', 'COPY ["a b", "c", "/d"]', ['a b', 'c']],
  ['a variable may be any file', 'ARG A\nCOPY $A /c', null],
  ['a variable as the target', 'COPY a $HOME/', ['a']],
  ['an address is none', 'ADD https://example.org/a /a', []],
  ['ONBUILD', 'ONBUILD COPY a /b', ['a']],
  [
    'a mount of the build',
    'RUN --mount=type=bind,source=a,target=/a --mount=type=cache,target=/c true',
    ['a'],
  ],
  ['a mount of the whole context', 'RUN --mount=target=/src true', ['.']],
  ['the body of a here-document is no instruction', 'RUN <<EOF\nCOPY a /b\nEOF\nCOPY c /d', ['c']],
  ['everything', 'COPY . .', ['.']],
];

for (const [what, text, sources] of rows)
  test(what, () => assert.deepEqual(namedSources(`FROM x\n${text}`), sources));
