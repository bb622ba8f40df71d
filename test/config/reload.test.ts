import assert from 'node:assert/strict';
import test from 'node:test';
import { planReload } from '../../src/config/reload.ts';
import type { Config } from '../../src/config/types.ts';

const running: Config = {
  version: 1,
  mcp: {
    listen: { host: '127.0.0.1', port: 0 },
    socket: null,
    token_env: 'WRAPTOOL_TOKEN',
    token_file: null,
    allowed_cwd_roots: ['/srv/app'],
    expose: 'both',
  },
  admin: null,
  defaults: { timeout: 60_000, max_output: 1_048_576, max_concurrent: 8 },
  scrub: { values_from_env: [], patterns: [] },
  tools: {},
  mcp_servers: {},
  requests: { log: '/var/log/wraptool', notify: [] },
  up: {
    runtime: 'auto',
    harness_env: [],
    extra_roots: [],
    network: 'private',
    confine_install: 'auto',
    base_image: 'debian:12',
  },
  supervisor: { restart: 'never', probe_tool: 'wraptool_discover' },
} as Config;

const withAdmin = (config: Config, host: string) =>
  ({ ...config, admin: { listen: { host, port: 0 } } }) as Config;

const cases: readonly {
  title: string;
  running?: Config;
  next: Config;
  apply: Config;
  waiting: readonly string[];
}[] = [
  { title: 'an equal config applies whole', next: structuredClone(running), apply: running, waiting: [] },
  {
    title: 'policy, limits and scrubbing apply at once',
    next: {
      ...running,
      defaults: { ...running.defaults, timeout: 5 },
      mcp: { ...running.mcp, expose: 'run' },
    },
    apply: {
      ...running,
      defaults: { ...running.defaults, timeout: 5 },
      mcp: { ...running.mcp, expose: 'run' },
    },
    waiting: [],
  },
  {
    title: 'addresses, token, roots and log wait, the rest beside them applies',
    next: {
      ...running,
      mcp: {
        listen: { host: '127.0.0.1', port: 7000 },
        socket: '/run/other.sock',
        token_env: 'OTHER',
        token_file: '/etc/token',
        allowed_cwd_roots: ['/srv/app', '/srv/more'],
        expose: 'tools',
      },
      requests: { log: '/var/log/other', notify: [] },
    },
    apply: { ...running, mcp: { ...running.mcp, expose: 'tools' } },
    waiting: [
      'mcp.listen',
      'mcp.socket',
      'mcp.token_env',
      'mcp.token_file',
      'mcp.allowed_cwd_roots',
      'requests.log',
    ],
  },
  {
    title: 'an admin block that comes waits, and is not there until then',
    next: withAdmin(running, '127.0.0.1'),
    apply: running,
    waiting: ['admin'],
  },
  {
    title: 'an admin block that goes waits, and is there until then',
    running: withAdmin(running, '127.0.0.1'),
    next: running,
    apply: withAdmin(running, '127.0.0.1'),
    waiting: ['admin'],
  },
  {
    title: 'the order of roots is a change',
    running: { ...running, mcp: { ...running.mcp, allowed_cwd_roots: ['/a', '/b'] } },
    next: { ...running, mcp: { ...running.mcp, allowed_cwd_roots: ['/b', '/a'] } },
    apply: { ...running, mcp: { ...running.mcp, allowed_cwd_roots: ['/a', '/b'] } },
    waiting: ['mcp.allowed_cwd_roots'],
  },
];

for (const { title, running: from = running, next, apply, waiting } of cases) {
  void test(title, () => {
    const before = structuredClone(next);
    const plan = planReload(from, next);
    assert.deepEqual(plan, { apply, waiting });
    assert.deepEqual(Object.keys(plan.apply).sort(), Object.keys(apply).sort());
    assert.deepEqual(next, before);
  });
}
