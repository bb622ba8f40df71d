/**
 * The real clients, keyless, each with a scripted model in a network of its own. `WRAPTOOL_CLIENTS` says which: a list of
 * names or `all`; by default those that CI installs.
 */
import test from 'node:test';
import { needs } from '../support/real.ts';
import { scenario } from './clients/scenario.ts';
import { chosen } from './clients/table.ts';

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
