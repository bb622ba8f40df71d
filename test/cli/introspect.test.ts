/** `wraptool introspect`: of a tool of the config, and of a text that is given to it. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { help, withForge } from '../gateway/forge.ts';
import { main, world, type World } from '../gateway/support.ts';

/** Of `wraptool introspect`: exit code, and what it printed on each stream. */
async function introspect(it: World, args: readonly string[], stdin = ''): Promise<[number, string, string]> {
  const env = { ...it.env, WRAPTOOL_CONFIG: it.config };
  const running = promisify(execFile)(process.execPath, [main, 'introspect', ...args], { env });
  running.child.stdin?.on('error', () => {}).end(stdin);
  return await running.then(
    ({ stdout, stderr }) => [0, stdout, stderr],
    (error: { code: number; stdout: string; stderr: string }) => [error.code, error.stdout, error.stderr],
  );
}

test('wraptool introspect shows what is read of a tool, and of a text', async (t) => {
  const it = world(t);
  withForge(it, '');
  const expected = {
    subcommands: {
      pr: 'manage pull requests',
      issue: 'manage issues with correct-horse-battery',
      nuke: 'destroy everything',
      release: 'make releases',
    },
    flags: [{ long: '--quiet', short: '-q', value: 'none', description: 'say less' }],
  };
  const [code, out] = await introspect(it, ['fj', '--json']);
  assert.deepEqual([code, JSON.parse(out)], [0, expected]);
  const [, text] = await introspect(it, ['--stdin', '--json'], help);
  assert.deepEqual(JSON.parse(text), expected);
  const [, words] = await introspect(it, ['--stdin'], `${help}  --evil  \u202e rm\n`);
  assert.match(words, /^subcommands\n {2}pr +manage pull requests\n/);
  assert.match(words, /\n {2}-q, --quiet +say less\n/);
  assert.equal(words.includes('\u202e'), false);
});

const refusals: [what: string, args: string[], code: number, reason: string][] = [
  ['a tool that the config does not have', ['nope'], 2, 'usage'],
  ['neither a tool nor a text', [], 2, 'usage'],
  ['a tool and a text', ['fj', '--stdin'], 2, 'usage'],
  ['a tool that is never to be run', ['fj'], 3, 'introspect_refused'],
  ['a program without a help', ['bad'], 1, 'introspect_failed'],
];
for (const [what, args, code, reason] of refusals)
  test(`wraptool introspect refuses ${what}`, async (t) => {
    const it = world(t);
    withForge(it, '    help_argv: []\n  bad:\n    binary: /usr/bin/false\n    help_argv: [x]\n');
    const [exit, out] = await introspect(it, [...args, '--json']);
    assert.deepEqual([exit, (JSON.parse(out) as { error: { code: string } }).error.code], [code, reason]);
  });

test('wraptool introspect reads 10 MB of anything within its limit', async (t) => {
  const start = performance.now();
  const [code, out] = await introspect(world(t), ['--stdin', '--json'], '-a [<{('.repeat(1_500_000));
  assert.equal(code, 0);
  assert.deepEqual(Object.keys(JSON.parse(out) as object), ['subcommands', 'flags']);
  assert.ok(performance.now() - start < 10_000);
});
