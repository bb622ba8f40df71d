import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import test from 'node:test';
import { format } from 'prettier';

const root = new URL('../../', import.meta.url);

void test('docs/errors.md is what script/errors-page.ts prints', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['script/errors-page.ts'], { cwd: root });
  const options = JSON.parse(await readFile(new URL('.prettierrc.json', root), 'utf8')) as object;
  assert.equal(
    await readFile(new URL('docs/errors.md', root), 'utf8'),
    await format(stdout, { ...options, parser: 'markdown' }),
  );
});
