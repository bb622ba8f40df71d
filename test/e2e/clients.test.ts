/**
 * The real clients, keyless, each with a scripted model in a network of its own. `WRAPTOOL_CLIENTS` says which: a list of
 * names or `all`; by default those that CI installs.
 */
import assert from 'node:assert/strict';
import test from 'node:test';
import { needs } from '../support/real.ts';
import { scenario } from './clients/scenario.ts';
import { cacheFolder } from './clients/session.ts';
import { chosen, reachable } from './clients/table.ts';
import { place } from './place.ts';

for (const client of chosen())
  void test(
    `bubblewrap: ${client.name} calls a tool, is denied, ${client.listChanged ? 'takes up' : 'overlooks'} a new tool, and outlives its gateway`,
    needs('root', 'npm-registry', 'bubblewrap'),
    (t) => scenario(t, client, 'bubblewrap'),
  );

for (const client of chosen().filter(({ name }) => ['claude', 'codex', 'opencode'].includes(name)))
  void test(
    `devcontainer: ${client.name} calls a tool, is denied, ${client.listChanged ? 'takes up' : 'overlooks'} a new tool, and outlives its gateway`,
    needs('root', 'npm-registry', 'docker'),
    (t) => scenario(t, client, 'devcontainer'),
  );

for (const name of reachable())
  void test(
    `bubblewrap: ${name}, which needs an account for more, lists the gateway's tools`,
    needs('root', 'npm-registry', 'bubblewrap'),
    async (t) => {
      const where = await place(t);
      where.env['XDG_CACHE_HOME'] = cacheFolder;
      const { code, stderr } = await where.wraptool(['harness', 'check', name, '--runtime', 'bubblewrap']);
      assert.equal(code, 0, stderr);
    },
  );
