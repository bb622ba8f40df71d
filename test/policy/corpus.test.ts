/** Policies and calls of the corpus: decision and reason of each. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import { cwdJudge, judgeCall, type Asked } from '../../src/cli/policy-judge.ts';
import { parseConfig } from '../../src/config/load.ts';
import { needs } from '../support/real.ts';

type Case = Asked & {
  readonly id: string;
  readonly why: string;
  readonly expected: 'allow' | 'deny';
  readonly reason?: string;
  readonly accept?: readonly string[];
  readonly setup?: readonly string[];
};

const folder = new URL('../corpus/policy/', import.meta.url);
const files = readdirSync(folder).filter((name) => name.endsWith('.cases.jsonl'));
const run = promisify(execFile);

function load(name: string, root: string) {
  const text = readFileSync(new URL(`${name}.yaml`, folder), 'utf8').replaceAll('$ROOT', root);
  const file = `${name}.yaml`;
  return parseConfig(Buffer.from(text), { file, real: file, env: { HOME: '/home/operator' } });
}

function cases(file: string): Case[] {
  const lines = readFileSync(new URL(file, folder), 'utf8').trim().split('\n');
  return lines.map((line) => JSON.parse(line) as Case);
}

async function make(mounts: string[], step: string): Promise<void> {
  const [verb, from = '', to = ''] = step.split(' ');
  if (verb === 'mkdir') await mkdir(from, { recursive: true });
  else if (verb === 'symlink') await symlink(from, to);
  else if (verb === 'file') await writeFile(from, '');
  else if (verb === 'bind') {
    await run('mount', ['--bind', from, to]);
    mounts.push(to);
  } else throw new Error(`unknown step ${step}`);
}

async function check(one: Case, name: string, root: string): Promise<void> {
  const { config, policy } = load(name, root);
  const asked = JSON.parse(JSON.stringify(one).replaceAll('$ROOT', root)) as Case;
  const decision = await judgeCall(policy, asked, cwdJudge(config));
  const got = decision.decision === 'allow' ? ['allow'] : ['deny', decision.reason];
  const reason = one.accept?.find((code) => code === got[1]) ?? one.reason;
  assert.deepEqual(got, one.expected === 'allow' ? ['allow'] : ['deny', reason]);
}

let count = 0;
for (const file of files) {
  const name = file.split('.')[0] ?? '';
  void describe(name, () => {
    for (const one of cases(file)) {
      count++;
      const real = one.setup?.some((step) => step.startsWith('bind')) ? needs('root') : {};
      test(`${one.id}: ${one.why}`, real, async (t) => {
        const root = await realpath(await mkdtemp(path.join(tmpdir(), 'wraptool-test-')));
        const mounts: string[] = [];
        t.after(async () => {
          for (const mount of mounts) await run('umount', [mount]);
          await rm(root, { recursive: true });
        });
        await mkdir(path.join(root, 'app'));
        for (const step of one.setup ?? []) await make(mounts, step.replaceAll('$ROOT', root));
        await check(one, name, root);
      });
    }
  });
}

void test('all cases of the corpus are there', () => {
  assert.equal(count, 372);
});
