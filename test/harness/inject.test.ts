import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parse } from 'smol-toml';
import { listDescriptors, loadDescriptor } from '../../src/harness/descriptor.ts';
import { inject, type InjectContext } from '../../src/harness/inject.ts';
import { mergeJson } from '../../src/harness/merge.ts';
import { parseDescriptor } from '../../src/harness/parse.ts';
import { harnessMount } from '../../src/harness/provide.ts';
import { fill, placeholders } from '../../src/harness/template.ts';
import { inside } from '../../src/up/runtime/runtime.ts';

const noUserConfig = { HOME: '/dev/null/home', XDG_CONFIG_HOME: '/dev/null/config' };
const claude = await loadDescriptor('claude', noUserConfig);
const shell = await loadDescriptor('shell', noUserConfig);
const codex = await loadDescriptor('codex', noUserConfig);
const all = await listDescriptors(noUserConfig);

const context: InjectContext = {
  workspace: '/src/my app',
  env: { HOME: '/home/agent', WRAPTOOL_URL: 'unix:/run/wraptool/gateway.sock', WRAPTOOL_TOKEN: 'the-token' },
  args: [],
  yolo: false,
  inside: { ...inside, files: '/opt/wraptool/files' },
};

const key = 'sk-ant-0123456789abcdefghijklmnopqrstuv';
const binary = '/opt/wraptool/harness/node_modules/@anthropic-ai/claude-code/bin/claude.exe';
const configArgs = [
  '--mcp-config',
  '/opt/wraptool/files/mcp.json',
  '--strict-mcp-config',
  '--settings',
  '/opt/wraptool/files/settings.json',
];
const quiet = {
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  DISABLE_AUTOUPDATER: '1',
  DISABLE_TELEMETRY: '1',
  DISABLE_ERROR_REPORTING: '1',
};
const mcp = {
  where: 'session',
  path: 'mcp.json',
  format: 'json',
  json: {
    mcpServers: {
      wraptool: {
        type: 'stdio',
        command: '/opt/wraptool/node/bin/node',
        args: ['/opt/wraptool/relay/main.ts'],
        env: { WRAPTOOL_URL: 'unix:/run/wraptool/gateway.sock', WRAPTOOL_TOKEN: '${WRAPTOOL_TOKEN}' },
      },
    },
  },
};
const permissions = { defaultMode: 'default', disableAutoMode: 'disable', allow: ['mcp__wraptool'] };
const firstRun = {
  hasCompletedOnboarding: true,
  projects: { '/src/my app': { hasTrustDialogAccepted: true } },
};

/** With plain objects, so that they can be compared. */
function parseToml(text: string): unknown {
  return JSON.parse(JSON.stringify(parse(text)));
}

/** The injection with the files' content parsed, so that a difference is readable. */
function shown(given: ReturnType<typeof inject>): unknown {
  return {
    ...given,
    secretEnv: [...given.secretEnv].sort(),
    files: given.files.map(({ content, ...rest }) => ({ ...rest, json: JSON.parse(content) as unknown })),
  };
}

describe('claude is given', () => {
  test('its config by flags, only the gateway pre-approved, and no token in any file or argument', () => {
    const made = inject(claude, { ...context, args: ['-p', 'say %{token}'] });
    assert.deepEqual(shown(made), {
      command: [binary, ...configArgs, '-p', 'say %{token}'],
      env: quiet,
      secretEnv: ['WRAPTOOL_TOKEN'],
      files: [
        mcp,
        { where: 'session', path: 'settings.json', format: 'json', json: { permissions } },
        { where: 'home', path: '.claude.json', format: 'json', json: firstRun },
      ],
    });
    assert.ok(!JSON.stringify([made.command, made.files]).includes('the-token'));
  });

  test('the end of the key as known where the operator passes one, never the key', () => {
    const made = inject(claude, { ...context, env: { ...context.env, ANTHROPIC_API_KEY: key } });
    assert.deepEqual(shown(made), {
      command: [binary, ...configArgs],
      env: quiet,
      secretEnv: ['ANTHROPIC_API_KEY', 'WRAPTOOL_TOKEN'],
      files: [
        mcp,
        { where: 'session', path: 'settings.json', format: 'json', json: { permissions } },
        {
          where: 'home',
          path: '.claude.json',
          format: 'json',
          json: { ...firstRun, customApiKeyResponses: { approved: [key.slice(-20)] } },
        },
      ],
    });
    assert.ok(!JSON.stringify(made.files).includes(key));
  });

  test('nothing of a key that is set but empty', () => {
    const made = inject(claude, { ...context, env: { ...context.env, ANTHROPIC_API_KEY: '' } });
    assert.ok(!JSON.stringify(made.files).includes('customApiKeyResponses'));
  });

  test('with --yolo its auto-approve flag and no more than goes with it', () => {
    assert.deepEqual(shown(inject(claude, { ...context, yolo: true, args: ['-c'] })), {
      command: [binary, ...configArgs, '--dangerously-skip-permissions', '-c'],
      env: { ...quiet, IS_SANDBOX: '1' },
      secretEnv: ['WRAPTOOL_TOKEN'],
      files: [
        mcp,
        {
          where: 'session',
          path: 'settings.json',
          format: 'json',
          json: { permissions, skipDangerousModePermissionPrompt: true },
        },
        { where: 'home', path: '.claude.json', format: 'json', json: firstRun },
      ],
    });
  });

  test('what the operator set rather than what the descriptor sets', () => {
    const made = inject(claude, { ...context, env: { ...context.env, DISABLE_TELEMETRY: '0' } });
    assert.ok(!Object.hasOwn(made.env, 'DISABLE_TELEMETRY'));
  });
});

describe('a client that is started gets no token on its command line or in a file:', () => {
  for (const descriptor of all) {
    if (descriptor.command.length === 0 || descriptor.name === 'shell') continue;
    test(descriptor.name, () => {
      for (const yolo of [false, true]) {
        const made = inject(descriptor, { ...context, yolo });
        const written = JSON.stringify([made.command, made.files]);
        assert.ok(!written.includes('the-token'));
        assert.match(JSON.stringify([written, made.env]), /relay\/main\.ts/, 'it is told of the relay');
      }
    });
  }
});

test('codex trusts the workspace whatever its name, and its server stands on the command line', () => {
  const made = inject(codex, { ...context, workspace: '/src/a "b" \\c' });
  assert.deepEqual(
    made.files.map(({ path, where, format, content }) => ({ path, where, format, data: parseToml(content) })),
    [
      {
        path: '.codex/config.toml',
        where: 'home',
        format: 'toml',
        data: {
          check_for_update_on_startup: false,
          projects: { '/src/a "b" \\c': { trust_level: 'trusted' } },
        },
      },
    ],
  );
  const given = made.command.find((word) => word.startsWith('mcp_servers.wraptool='));
  assert.deepEqual(parseToml(given ?? ''), {
    mcp_servers: {
      wraptool: {
        command: '/opt/wraptool/node/bin/node',
        args: ['/opt/wraptool/relay/main.ts'],
        env_vars: ['WRAPTOOL_URL', 'WRAPTOOL_TOKEN'],
        default_tools_approval_mode: 'approve',
        required: true,
        startup_timeout_sec: 60,
        tool_timeout_sec: 3600,
      },
    },
  });
});

test('a shell is given its arguments and nothing else', () => {
  assert.deepEqual(shown(inject(shell, { ...context, args: ['-c', 'true'] })), {
    command: ['/bin/bash', '-c', 'true'],
    env: {},
    secretEnv: ['WRAPTOOL_TOKEN'],
    files: [],
  });
});

test('a descriptor may put the token into a file of the session and into a variable, which is then masked', () => {
  const descriptor = parseDescriptor(
    `version: 1
name: probe
title: A probe
command: ['%{node}', '%{harness}/main.js']
list_changed: false
run:
  env: { AUTH: 'Bearer %{token}', KEY_END: '%{env:KEY:last20}', PLAIN: '%{workspace}' }
  files:
    - { where: session, path: auth, text: "%{token}\\n" }
    - { where: session, path: again, text: one }
    - { where: session, path: again, text: two }
`,
    'f.yaml',
  );
  const made = inject(descriptor, { ...context, env: { ...context.env, KEY: key } });
  assert.deepEqual(made, {
    command: ['/opt/wraptool/node/bin/node', '/opt/wraptool/harness/main.js'],
    env: { AUTH: 'Bearer the-token', KEY_END: key.slice(-20), PLAIN: '/src/my app' },
    secretEnv: new Set(['WRAPTOOL_TOKEN', 'AUTH', 'KEY_END']),
    files: [
      { where: 'session', path: 'auth', format: 'text', content: 'the-token\n' },
      { where: 'session', path: 'again', format: 'text', content: 'two' },
    ],
  });
});

test('what is filled in is never read as a placeholder again', () => {
  const places = { ...context.inside, workspace: '/w/%{token}', url: '', token: 'secret' };
  assert.equal(fill('%{workspace} %{env:X}', { places, env: { X: '%{token}' } }), '/w/%{token} %{token}');
  assert.deepEqual(placeholders('${A} {b} %{files}%{env:X:last20}%{'), [
    { text: '%{files}', kind: 'place' },
    { text: '%{env:X:last20}', kind: 'env-tail' },
    { text: '%{', kind: 'unknown' },
  ]);
});

test('an installation is mounted where commands expect it', () => assert.equal(harnessMount, inside.harness));

describe('merging', () => {
  const cases: [name: string, base: unknown, seed: unknown, merged: unknown][] = [
    [
      'keeps what the seed does not name',
      { a: 1, b: { c: 2 } },
      { b: { d: 3 } },
      { a: 1, b: { c: 2, d: 3 } },
    ],
    ['lets the seed win', { a: 1 }, { a: 2 }, { a: 2 }],
    ['joins lists without repeating', { a: ['x', 'y'] }, { a: ['y', 'z'] }, { a: ['x', 'y', 'z'] }],
    [
      'replaces what has another kind',
      { a: [1], b: 'x' },
      { a: { c: 1 }, b: ['y'] },
      { a: { c: 1 }, b: ['y'] },
    ],
    ['takes the seed where nothing was', undefined, { a: 1 }, { a: 1 }],
  ];
  for (const [name, base, seed, merged] of cases)
    test(name, () => assert.deepEqual(mergeJson(base, seed), merged));

  test('takes a key "__proto__" as a key', () => {
    const merged = mergeJson(
      JSON.parse('{"__proto__":{"polluted":1}}'),
      JSON.parse('{"a":{"__proto__":{"b":1}}}'),
    );
    assert.equal(JSON.stringify(merged), '{"__proto__":{"polluted":1},"a":{"__proto__":{"b":1}}}');
    assert.equal((merged as { polluted?: number }).polluted, undefined);
    assert.equal(({} as { polluted?: number }).polluted, undefined);
  });
});
