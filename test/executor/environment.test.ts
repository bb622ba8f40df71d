import assert from 'node:assert/strict';
import { test } from 'node:test';
import { childEnvironment } from '../../src/executor/environment.ts';
import { openDir, shell, startExecutor } from './support.ts';
import { scratch } from '../support/scratch.ts';

/** ENV-001 is the configured ones below. ENV-002 to ENV-046: each runs something or changes what runs. None may come from the host process. */
const dangerous =
  `GIT_SSH_COMMAND GIT_SSH GIT_EXTERNAL_DIFF GIT_CONFIG_COUNT GIT_CONFIG_KEY_0 GIT_CONFIG_VALUE_0
  GIT_CONFIG_PARAMETERS GIT_EXEC_PATH GIT_PROXY_COMMAND GIT_DIR GIT_TRACE GIT_TRACE2_EVENT GIT_TEMPLATE_DIR
  GIT_SEQUENCE_EDITOR EDITOR VISUAL PAGER LESSOPEN LD_PRELOAD LD_LIBRARY_PATH BASH_ENV ENV BASH_FUNC_ls%% Path
  NODE_OPTIONS npm_config_script_shell NPM_CONFIG_SCRIPT_SHELL npm_config_script-shell PYTHONPATH PYTHONSTARTUP
  PERL5OPT RUSTC_WRAPPER GOFLAGS CC MAKEFLAGS MAKEFILES TAR_OPTIONS RIPGREP_CONFIG_PATH KUBECONFIG DOCKER_HOST
  TF_CLI_ARGS TF_LOG_PATH COMPILER_PATH MAVEN_OPTS JAVA_TOOL_OPTIONS RSYNC_RSH OPENSSL_CONF WRAPTOOL_TOKEN
  SSH_AUTH_SOCK AWS_SECRET_ACCESS_KEY GH_TOKEN XDG_CONFIG_HOME TMPDIR`
    .split(/\s+/)
    .filter(Boolean);

test('ENV-052: a child gets the fixed variables and the configured ones, whatever the host process has', async (t) => {
  // Loading perl or the dynamic linker with these must not matter either: the helper has none of them.
  const before = { ...process.env };
  t.after(() => {
    for (const name of dangerous) if (before[name] === undefined) delete process.env[name];
    Object.assign(process.env, before);
  });
  const cwd = scratch();
  for (const name of dangerous) process.env[name] = `${cwd}/evil`;
  process.env['PATH'] = `${cwd}:.::${before['PATH']}`;
  const executor = startExecutor(t);
  const env = childEnvironment({ home: '/home/op', configured: { CI: '1', LC_ALL: 'C' } });
  const { stdout } = await shell(executor, '/usr/bin/tr "\\0" "\\n" < /proc/self/environ', {
    env,
    cwd: await openDir(cwd),
  });
  const lines = stdout
    .trim()
    .split('\n')
    .filter((line) => !line.startsWith('PWD='));
  assert.deepEqual(lines.toSorted(), [
    'CI=1',
    'HOME=/home/op',
    'LANG=C.UTF-8',
    'LC_ALL=C',
    'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  ]);
});

test('what is configured comes over the fixed ones', () => {
  const env = childEnvironment({ home: '/h', configured: { HOME: '/profile', PATH: '/opt/bin:/bin' } });
  assert.deepEqual({ ...env }, { PATH: '/opt/bin:/bin', HOME: '/profile', LANG: 'C.UTF-8' });
  assert.ok(Object.isFrozen(env));
});

const bad: [string, Record<string, string>][] = [
  ['ENV-048: a name with =', { 'A=B': 'c' }],
  ['ENV-049: NUL in a value', { A: 'b\0c' }],
  ['NUL in a name', { 'A\0': 'b' }],
  ['ENV-051: an empty name', { '': 'b' }],
  ['ENV-022: a relative entry of PATH', { PATH: '/bin:bin' }],
  ['ENV-023: an empty entry of PATH', { PATH: '/bin::/usr/bin' }],
  ['an empty PATH', { PATH: '' }],
];
for (const [name, configured] of bad) {
  test(`${name} is refused`, () => {
    assert.throws(() => childEnvironment({ home: '/h', configured }), { code: 'config_invalid' });
  });
}

test('ENV-047 and ENV-050: names keep their case, values their newlines', () => {
  const env = childEnvironment({ home: '/h', configured: { Path: 'a\nb' } });
  assert.equal(env['Path'], 'a\nb');
  assert.notEqual(env['PATH'], env['Path']);
});

test('a variable named like a property of every object is only a variable', () => {
  const configured = JSON.parse('{"__proto__": "x", "constructor": "y"}') as Record<string, string>;
  const env = childEnvironment({ home: '/h', configured });
  assert.deepEqual(
    Object.keys(env).toSorted(),
    ['HOME', 'LANG', 'PATH', '__proto__', 'constructor'].toSorted(),
  );
});
