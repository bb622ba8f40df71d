/**
 * No argv that a policy allows runs a canary or touches a file outside: argv made of git's own flag names and hostile
 * values, judged by the handed policies and by one that allows any flag, and really run through executor and guard.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { appendFile, cp, lstat, mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { parseConfig } from '../../src/config/load.ts';
import { evaluate } from '../../src/policy/evaluate.ts';
import type { RuleSpec } from '../../src/policy/spec.ts';
import { git, guarded, makeClone, makePlace, newExecutor, type Place } from '../executor/guards/support.ts';
import { needs } from '../support/real.ts';
import { policyOf } from './support.ts';

const inCi = process.env['CI'] === 'true';
const argvCount = inCi ? 12_000 : 3000;
/** Of the allowed ones so many ms are run for, those of the exact policies first; all of these are always run. */
const runMs = inCi ? 90_000 : 15_000;
const workers = 3;
const secret = 'OUTSIDE-SECRET-5d20';

const verbs = 'status log diff show add commit branch tag stash fetch push'.split(' ');
const others = 'grep ls-remote remote checkout config clone submodule archive bisect worktree'.split(' ');
const flags = new Map([...verbs, ...others].map((verb) => [verb, flagsOf(verb)]));

/** From git itself, and the list of what it leaves out. */
function flagsOf(verb: string): readonly string[] {
  const listed = readFileSync(new URL('git-flags.txt', import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith(`${verb} `) || line.startsWith('* '))
    .flatMap((line) => line.split(' ').slice(1));
  return [...new Set([...helper(verb), ...listed])];
}

function helper(verb: string): readonly string[] {
  const env = { PATH: process.env['PATH'] ?? '', HOME: '/dev/null/home' };
  try {
    const words = execFileSync('git', [verb, '--git-completion-helper-all'], {
      encoding: 'utf8',
      env,
      cwd: '/',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).split(/\s+/);
    return words.filter((word) => /^-./.test(word) && word !== '--').map((word) => word.replace(/=$/, ''));
  } catch (error) {
    // Commands that are scripts know no such option.
    if (typeof (error as { status?: unknown }).status === 'number') return [];
    throw error;
  }
}

const any: RuleSpec = { flags: 'any', args: 'any', end_of_options: true };
const judges = [
  ...['P-GIT-READ', 'P-GIT-WRITE', 'P-GIT-BROAD'].map((name) => {
    const bytes = readFileSync(new URL(`../corpus/policy/${name}.yaml`, import.meta.url));
    const { policy } = parseConfig(bytes, { file: name, real: name, env: { HOME: '/home/operator' } });
    return { name, policy };
  }),
  {
    name: 'any flags',
    policy: policyOf({ git: { allow: verbs.map((subcommand) => ({ subcommand, ...any })) } }),
  },
];

/** `OUT` and `WS` stand for folders that are known when it runs. */
const hostile = fc.constantFrom(
  ...['OUT/ran', 'OUT/victim.txt', '../../outside/ran', 'WS/canary', 'OUT/new', 'OUT/private', '/etc/passwd'],
  ...['ext::sh -c touch% OUT/ran', 'touch OUT/ran', '!touch OUT/ran', '$(touch OUT/ran)', '`touch OUT/ran`'],
  ...['file://OUT/private', 'ssh://-oProxyCommand=touch OUT/ran/x', '--output=OUT/ran', '--exec=WS/canary'],
  ...['core.fsmonitor=WS/canary', 'exec:WS/canary', ':(top,literal)OUT', ':/', '+main', ':main', '@{u}', '*'],
  ...[
    '--',
    '-',
    '',
    '%(trailers:key=x)',
    'main:refs/heads/prod',
    'OUT/victim.txt:2',
    'sh -c "touch OUT/ran"',
  ],
);
const plain = fc.constantFrom(
  ...['origin', 'main', 'HEAD', 'HEAD~1', 'one.txt', 'src/a.ts', 'x', '1', 'no', 'always', '%H', 'feature/x'],
);
const value = fc.oneof(hostile, plain);

/** What the exact policies list, so that some of it is allowed. */
const listed = fc.constantFrom(
  ...['--short', '-sb', '--porcelain=v2', '--oneline', '-n5', '--format=%H', '--grep', '-S', '--stat'],
  ...['--cached', '--name-only', '--color=always', '-e', '-ni', '--list', '-v', '--prune', '-u', '--dry-run'],
  ...['-m', '-am', '--signoff', '--update', '-b', '--no-pager', '-P', '--heads'],
);

const argv = fc
  .tuple(
    fc.oneof(fc.constant([]), fc.constantFrom(['--no-pager'], ['-P'], ['-c', 'x.y=z'], ['-C', 'OUT'])),
    fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...verbs) }, fc.constantFrom(...others)),
  )
  .chain(([globals, verb]) => {
    const name = fc.constantFrom(...(flags.get(verb) ?? []), '-x');
    const token = fc.oneof(
      listed,
      value,
      name,
      fc.tuple(name, value).map(([flag, text]) => `${flag}=${text}`),
      fc.tuple(name, value).map(([flag, text]) => (flag.startsWith('--') ? flag.slice(0, -1) : flag + text)),
    );
    return fc.array(token, { maxLength: 4 }).map((rest) => [...globals, verb, ...rest]);
  });

type Allowed = { readonly judge: string; readonly argv: readonly string[] };

/** Every allowed call in the form in which it would run, once. */
function judgeMany(): Allowed[] {
  const found = new Map<string, Allowed>();
  let judged = 0;
  fc.assert(
    fc.property(argv, (call) => {
      judged++;
      for (const { name, policy } of judges) {
        const decision = evaluate(policy, { tool: 'git', argv: call });
        if (decision.decision === 'deny') continue;
        const key = decision.argv.join('\0');
        if (!found.has(key)) found.set(key, { judge: name, argv: decision.argv });
      }
    }),
    { numRuns: argvCount },
  );
  assert.equal(judged, argvCount);
  return [...found.values()];
}

/** A repository whose own settings run the canary wherever a flag lets them. */
async function stage(place: Place): Promise<{ repo: string; url: string }> {
  const { repo, url } = await makeClone(place);
  const canary = join(place.workspace, 'canary');
  const loot = `cat '${place.outside}/secret.txt' '${place.home}/.credentials' 2>/dev/null`;
  await writeFile(canary, `#!/bin/sh\necho ran >>'${place.outside}/ran'\n${loot}\nexit 0\n`, { mode: 0o755 });
  await writeFile(join(place.outside, 'secret.txt'), `${secret}\n`);
  await writeFile(join(place.outside, 'victim.txt'), 'victim\n');
  await writeFile(join(place.home, '.credentials'), `${secret}\n`);
  await mkdir(join(place.outside, 'private'));
  const keys = ['diff.evil.command', 'diff.evil.textconv', 'filter.evil.clean', 'filter.evil.smudge'];
  const programs = [
    'core.pager',
    'core.editor',
    'core.sshCommand',
    'core.fsmonitor',
    'gpg.program',
    'diff.external',
  ];
  for (const key of [...keys, ...programs]) await git(repo, 'config', key, canary);
  await git(repo, 'config', 'alias.lg', `!${canary}`);
  await git(repo, 'config', 'remote.evil.url', `ext::${canary}`);
  await writeFile(join(repo, '.git/info/attributes'), '*.txt diff=evil filter=evil\n');
  for (const hook of ['pre-commit', 'pre-push', 'post-checkout', 'reference-transaction'])
    await cp(canary, join(repo, '.git/hooks', hook));
  await mkdir(join(repo, 'src'));
  await writeFile(join(repo, 'src/a.ts'), 'a\n');
  await appendFile(join(repo, 'one.txt'), 'changed\n');
  return { repo, url };
}

/** Names, sizes, times and content of what must stay as it is. */
async function manifest(place: Place): Promise<string[]> {
  const lines: string[] = [];
  for (const folder of [place.outside, place.home])
    for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
      const path = join(entry.parentPath, entry.name);
      const { mtimeMs, mode } = await lstat(path);
      lines.push(`${path} ${mode} ${mtimeMs} ${entry.isFile() ? await readFile(path, 'utf8') : ''}`);
    }
  return lines.sort();
}

void describe('git, argv by argv', needs('git', 'bubblewrap'), () => {
  const executor = newExecutor();
  const places: Place[] = [];
  before(async () => {
    for (let index = 0; index < workers; index++) places.push(await makePlace(null));
  });
  after(async () => {
    await executor.close();
    for (const place of places) await rm(place.root, { recursive: true, force: true, maxRetries: 5 });
  });

  test('what is allowed harms nothing when it runs', async (t) => {
    const allowed = judgeMany();
    const exact = allowed.filter(({ judge }) => judge !== 'any flags');
    const broad = allowed.filter(({ judge }) => judge === 'any flags');
    assert.ok(exact.length > argvCount / 100, `only ${exact.length} calls are allowed by the exact policies`);
    const queue = [...exact, ...broad];
    const deadline = performance.now() + runMs;
    let ran = 0;
    const work = async (place: Place): Promise<void> => {
      const { repo, url } = await stage(place);
      const fresh = join(place.root, 'fresh');
      await cp(repo, fresh, { recursive: true, verbatimSymlinks: true });
      const call = guarded(executor, place, { cwd: repo, remotes: { origin: url }, timeoutMs: 60_000 });
      const expected = await manifest(place);
      while (ran < exact.length || performance.now() < deadline) {
        const one = queue[ran++];
        if (one === undefined) return;
        const words = one.argv.map((word) =>
          word.replaceAll('OUT', place.outside).replaceAll('WS', place.workspace),
        );
        const said = `${one.judge}: git ${words.join(' ')}`;
        const outcome = await call(words);
        if (outcome.kind === 'refused') assert.equal(outcome.reason, 'guard_refused', said);
        else {
          assert.deepEqual([outcome.timedOut, outcome.cancelled], [false, false], said);
          assert.ok(!`${outcome.stdout}${outcome.stderr}`.includes(secret), `${said} shows a secret`);
        }
        assert.deepEqual(await manifest(place), expected, said);
        if (ran % 20 > workers) continue;
        // What one call did to the repository must not make all that follow fail.
        await rm(repo, { recursive: true, force: true, maxRetries: 5 });
        await cp(fresh, repo, { recursive: true, verbatimSymlinks: true });
      }
    };
    await Promise.all(places.map(work));
    t.diagnostic(
      `${argvCount} argv judged, ${exact.length} allowed by exact policies, ${broad.length} more by any flags, ${Math.min(ran, queue.length)} run`,
    );
  });
});
