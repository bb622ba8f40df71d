/** What is generated from the schema, and what is linted. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { format } from 'prettier';
import { allKeys, configPage, explainKey } from '../../src/config/describe.ts';
import { lint } from '../../src/config/lint.ts';
import { parseConfig } from '../../src/config/load.ts';

const root = new URL('../../', import.meta.url);

void test('docs/config.md is what the schema says', async () => {
  const options = JSON.parse(await readFile(new URL('.prettierrc.json', root), 'utf8')) as object;
  const page = await format(configPage(), { ...options, parser: 'markdown' });
  assert.equal(await readFile(new URL('docs/config.md', root), 'utf8'), page);
});

void test('every key has a description', () => {
  assert.deepEqual(
    allKeys()
      .filter(({ description }) => description === '')
      .map(({ key }) => key),
    [],
  );
});

void test('a key is found with or without brackets, under any name', () => {
  const found = (key: string): unknown => {
    const facts = explainKey(key);
    return 'found' in facts ? [facts.found.key, facts.found.type] : facts.meant;
  };
  assert.deepEqual(found('tools.git.allow[2].flag_constraints.--x.value'), [
    'tools.NAME.allow[].flag_constraints.FLAG.value',
    'none or optional or required',
  ]);
  assert.deepEqual(found('mcp.listen'), ['mcp.listen', 'string']);
  assert.equal(found('mcp.lisen'), 'mcp.listen');
  assert.equal(found('zzzzzz'), null);
});

void test('the template is a valid config', async () => {
  const bytes = await readFile(new URL('templates/config.yaml', root));
  const { policy } = parseConfig(bytes, { file: 'c', real: '/c', env: { HOME: '/h' } });
  assert.deepEqual([...policy.tools.keys()], ['git']);
});

void test('what is doubtful is said, with its line', () => {
  const text = `version: 1
mcp: { listen: '0.0.0.0:80' }
tools:
  git:
    binary: /usr/bin/git
    confine: none
    allow:
      - { subcommand: remote, args: [{ pattern: '.*a.*b' }] }
      - { subcommand: push, flags: any }
  npm:
    binary: /usr/bin/npm
    allow: [{ subcommand: test }]
  sh:
    binary: /bin/sh
    allow: [{ args: any }]
`;
  const snapshot = parseConfig(Buffer.from(text), { file: 'c', real: '/c', env: { HOME: '/h' } });
  assert.deepEqual(
    lint(snapshot).map(({ code, line }) => [code, line]),
    [
      ['no_cwd_roots', null],
      ['public_listener', null],
      ['slow_pattern', 8],
      ['unconfined', 8],
      ['command_group', 8],
      ['any_flags', 9],
      ['runs_workspace_code', 12],
      ['unguarded', 12],
      ['wrapper', 15],
      ['unguarded', 15],
    ],
  );
});

void test('EXEC-005, EXEC-011, EXEC-012: what runs code of the workspace, or plugins, is said', () => {
  const tools = ['cargo', 'npm', 'docker', 'kubectl', 'git'];
  const text = tools.map((name) => `  ${name}: { binary: /usr/bin/${name}, allow: [{ subcommand: x }] }\n`);
  const snapshot = parseConfig(Buffer.from(`version: 1\ntools:\n${text.join('')}`), {
    file: 'c',
    real: '/c',
    env: { HOME: '/h' },
  });
  const said = lint(snapshot).filter(({ code }) => code.startsWith('runs_'));
  assert.deepEqual(
    said.map(({ message }) => message),
    [
      'tools.cargo: "cargo" runs code of the workspace, which the agent can write',
      'tools.npm: "npm" runs code of the workspace, which the agent can write',
      'tools.docker: "docker" runs code of the workspace, which the agent can write',
      'tools.docker: "docker" runs every cli-plugins/docker-* of ~/.docker, also for its help: give it a HOME that the agent cannot write',
      'tools.kubectl: "kubectl" runs kubectl-* on PATH and the kubeconfig\'s exec entries: give it a HOME that the agent cannot write',
    ],
  );
});
