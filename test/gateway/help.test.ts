/** What the programs of a config say of themselves, as clients see it: wraptool_discover and the list of tools. */
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { withForge } from './forge.ts';
import { call, connect, textOf, world, type World } from './support.ts';

type Entry = { allowed: string[]; available: Record<string, string>; note?: string };

const note = 'no allow rules: nothing is callable yet — request one of the available subcommands';

async function discovered(t: TestContext, it: World): Promise<Record<string, Entry>> {
  const client = await connect(t, (await it.serve()).ready.url ?? '', it.src);
  const { tools } = JSON.parse(textOf(await call(client, 'wraptool_discover'))) as {
    tools: Record<string, Entry>;
  };
  return tools;
}

test('discover says what could be asked for where nothing is allowed', async (t) => {
  const it = world(t);
  withForge(it, '');
  assert.deepEqual((await discovered(t, it))['fj'], {
    allowed: [],
    available: {
      pr: 'manage pull requests',
      issue: 'manage issues with [redacted:A_SECRET]',
      nuke: 'destroy everything',
      release: 'make releases',
    },
    note,
  });
  assert.equal(fs.existsSync(path.join(it.dir, 'ran')), false, 'it ran confined');
});

test('discover never lists as available what is allowed, or denied whole', async (t) => {
  const it = world(t);
  withForge(
    it,
    `    allow: [{ subcommand: pr }, { subcommand: issue view }]
    deny: [{ subcommand: nuke }, { subcommand: release, flags: [--delete] }]
`,
  );
  const { fj } = await discovered(t, it);
  assert.deepEqual(fj?.allowed, ['issue view', 'pr']);
  assert.deepEqual(Object.keys(fj?.available ?? {}), ['issue', 'release']);
  assert.equal(Object.hasOwn(fj ?? {}, 'note'), false);
});

test('discover answers though a program has no help, is never to be run, or takes too long', async (t) => {
  const it = world(t);
  withForge(it, '    help_argv: []\n');
  const slow = path.join(it.dir, 'slow');
  fs.writeFileSync(slow, '#!/bin/sh\nsleep 60\n', { mode: 0o755 });
  fs.appendFileSync(it.config, `  slow:\n    binary: ${slow}\n`);
  const tools = await discovered(t, it);
  for (const name of ['fj', 'slow', 'nothing'])
    assert.deepEqual(tools[name], { allowed: [], available: {}, note });
});

test('discover runs what help_argv names', async (t) => {
  const it = world(t);
  withForge(it, '    help_argv: [usage]\n');
  const bin = path.join(it.dir, 'fj');
  fs.writeFileSync(bin, fs.readFileSync(bin, 'utf8').replace('= --help', '= usage'));
  assert.equal((await discovered(t, it))['fj']?.available['pr'], 'manage pull requests');
});

test('the tools are described by the help of their programs, at once and the same in every list', async (t) => {
  const it = world(t);
  withForge(
    it,
    `    allow:
      - { subcommand: pr }
      - flags: [--quiet, --other]
        flag_constraints: { --quiet: { short: -q, value: none } }
`,
  );
  const gateway = await it.serve();
  const client = await connect(t, gateway.ready.url ?? '', it.src);
  const { tools } = await client.listTools();
  const described = new Map(tools.map((tool) => [tool.name, tool]));
  assert.match(described.get('fj_pr')?.description ?? '', /Its help says: "manage pull requests"\.$/);
  const schema = described.get('fj')?.inputSchema.properties as Record<string, { properties: object }>;
  assert.deepEqual(schema['flags']?.properties, {
    '--quiet': { type: 'boolean', const: true, description: 'short: -q; say less' },
    '--other': { anyOf: [{ type: 'boolean', const: true }, { type: 'string' }] },
  });
  assert.deepEqual((await client.listTools()).tools, tools);
  const again = await connect(t, (await it.serve()).ready.url ?? '', it.src);
  assert.deepEqual((await again.listTools()).tools, tools);
});

test('a reloaded config is described, too', async (t) => {
  const it = world(t);
  withForge(it, '    allow: [{ subcommand: pr }]\n');
  const client = await connect(t, (await it.serve()).ready.url ?? '', it.src);
  await client.listTools();
  const changed = new Promise<void>((resolve) => {
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => resolve());
  });
  fs.writeFileSync(
    it.config,
    fs.readFileSync(it.config, 'utf8').replace('subcommand: pr', 'subcommand: release'),
  );
  await changed;
  const { tools } = await client.listTools();
  const release = tools.find(({ name }) => name === 'fj_release');
  assert.match(release?.description ?? '', /Its help says: "make releases"\.$/);
});
