/** The canonical form, read by the real CLIs: what they do with it is what the rule says, in harmless ways. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { execFile } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import type { RuleSpec } from '../../src/policy/spec.ts';
import { needs } from '../support/real.ts';
import { outcome, policyOf } from './support.ts';

let dir = '';
before(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'wraptool-test-'));
  await mkdir(path.join(dir, 'src'));
  await writeFile(path.join(dir, 'src', 'a.ts'), 'foo --bar\n');
  await writeFile(path.join(dir, 'src', 'b.js'), 'x\n');
});
after(() => rm(dir, { recursive: true }));

/** What a machine need not have: the rest of the suite does not depend on it. */
function installed(name: string): { skip?: string } {
  const { error } = spawnSync(name, ['--version'], { timeout: 20_000, env: env() });
  return error ? { skip: `${name} is not installed` } : {};
}

function env(): Record<string, string> {
  const clean = { GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null', NO_UPDATE_NOTIFIER: '1' };
  return { PATH: process.env['PATH'] ?? '', HOME: dir, LANG: 'C.UTF-8', ...clean };
}

/** Canonical argv of an allowed call. */
function allowed(rules: readonly RuleSpec[], call: readonly string[]): readonly string[] {
  const argv = outcome(policyOf({ [call[0] ?? '']: { allow: rules } }), call);
  assert.ok(typeof argv !== 'string', `${call.join(' ')}: ${String(argv)}`);
  return argv;
}

function run(tool: string, argv: readonly string[]): string {
  const { stdout, stderr, status } = spawnSync(tool, argv, {
    cwd: dir,
    encoding: 'utf8',
    timeout: 30_000,
    env: env(),
  });
  assert.equal(status, 0, `${tool} ${argv.join(' ')}: ${stderr}${stdout}`);
  return stdout;
}

void describe('git', needs('git'), () => {
  before(() => {
    run('git', ['init', '-q', '-b', 'main', '.']);
    run('git', ['add', '.']);
  });
  const commit: RuleSpec = {
    subcommand: 'commit',
    flags: ['--message', '--all', '--quiet', '--author'],
    flag_constraints: {
      '--message': { short: '-m', value: 'required', multiline: true },
      '--all': { short: '-a', value: 'none' },
      '--quiet': { short: '-q', value: 'none' },
      '--author': { value: 'required' },
    },
  };
  test('a cluster with a value, and values that look like flags', () => {
    const author = ['-c', 'user.name=x', '-c', 'user.email=x@example.org'];
    const argv = allowed([commit], ['git', 'commit', '-qam-n --amend']);
    run('git', [...author, ...argv]);
    assert.equal(run('git', ['log', '--format=%B']).trim(), '-n --amend');
  });
  test('grep -e takes a dashed word; the rest are revisions and paths', () => {
    const rule: RuleSpec = {
      subcommand: 'grep',
      flags: ['-e', '--line-number', '--max-depth'],
      flag_constraints: {
        '-e': { value: 'required', dash_value: true },
        '--line-number': { short: '-n', value: 'none' },
        '--max-depth': { type: 'int' },
      },
      end_of_options: { path: 'cwd' },
    };
    const argv = allowed([rule], ['git', 'grep', '-ne', '--bar', '--max-depth', '3', '--', 'src']);
    assert.equal(run('git', argv), 'src/a.ts:1:foo --bar\n');
  });
  test('an optional value stays attached, flags after positionals go first', () => {
    const rule: RuleSpec = {
      subcommand: 'log',
      flags: ['--decorate', '--format', '--max-count'],
      flag_constraints: {
        '--decorate': { value: 'optional', enum: ['no', 'short'] },
        '--format': { value: 'required' },
        '--max-count': { short: '-n', type: 'int' },
      },
      args: [{ enum: ['main'] }],
    };
    const argv = allowed([rule], ['git', 'log', 'main', '-n1', '--decorate=no', '--format', '%s']);
    assert.equal(run('git', argv), '-n --amend\n');
  });
});

void test('tar: a cluster whose last letter takes a value', installed('tar'), () => {
  const rule: RuleSpec = {
    flags: ['--create', '--gzip', '--file', '--list'],
    flag_constraints: {
      '--create': { short: '-c', value: 'none' },
      '--gzip': { short: '-z', value: 'none' },
      '--list': { short: '-t', value: 'none' },
      '--file': { short: '-f', path: 'cwd' },
    },
    rest: { path: 'cwd' },
  };
  run('tar', allowed([rule], ['tar', '-czf', 'out.tgz', 'src/a.ts']));
  assert.equal(run('tar', allowed([rule], ['tar', '-ztfout.tgz'])), 'src/a.ts\n');
});

void test('find: start points before the expression, in its order', installed('find'), () => {
  const rule: RuleSpec = {
    flags: ['-name', '-type', '-maxdepth', '-L'],
    flag_constraints: {
      '-name': { value: 'required' },
      '-type': { enum: ['f'] },
      '-maxdepth': { type: 'int' },
      '-L': { value: 'none' },
    },
    rest: { path: 'cwd' },
  };
  const argv = allowed([rule], ['find', '-maxdepth=1', '-name=*.ts', '-L', 'src', '-type', 'f']);
  assert.equal(run('find', argv), 'src/a.ts\n');
});

void describe('curl', installed('curl'), () => {
  test('long values are the next word; a header is one word', async (t) => {
    const server = createServer((request, response) => {
      response.end(`${request.method} ${request.url} ${String(request.headers['x-test'])}`);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/a?b`;
    const rule: RuleSpec = {
      flags: ['--silent', '--request', '--header', '--noproxy'],
      flag_constraints: {
        '--silent': { short: '-s', value: 'none' },
        '--request': { short: '-X', enum: ['PUT'] },
        '--header': { short: '-H', value: 'required' },
        '--noproxy': { value: 'required' },
      },
      rest: { type: 'url' },
    };
    const argv = allowed([rule], ['curl', url, '-sXPUT', '--header=x-test: a b', '--noproxy', '127.0.0.1']);
    const { stdout } = await promisify(execFile)('curl', argv, { cwd: dir, env: env(), timeout: 30_000 });
    assert.equal(stdout, 'PUT /a?b a b');
  });
});

void test(
  'npm: a flag before the name of a script is not taken for its value',
  installed('npm'),
  async () => {
    const scripts = { show: 'node -p process.argv.length' };
    await writeFile(path.join(dir, 'package.json'), JSON.stringify({ name: 'x', version: '1.0.0', scripts }));
    const rule: RuleSpec = {
      subcommand: 'run',
      flags: ['--silent', '--if-present', '--loglevel'],
      flag_constraints: {
        '--silent': { short: '-s', value: 'none' },
        '--if-present': { value: 'none' },
        '--loglevel': { enum: ['silent'] },
      },
      args: [{ enum: ['show', 'true'] }],
    };
    assert.equal(run('npm', allowed([rule], ['npm', 'run', 'show', '-s', '--if-present'])), '1\n');
    assert.equal(run('npm', allowed([rule], ['npm', 'run', '--loglevel', 'silent', 'show'])), '1\n');
    assert.equal(
      outcome(policyOf({ npm: { allow: [rule] } }), ['npm', 'run', '--if-present', 'true']),
      'flag_value_ambiguous',
    );
  },
);

void test('docker: flags stop at the image', installed('docker'), () => {
  const rule: RuleSpec = {
    subcommand: 'run',
    flags: ['--rm', '--interactive', '--volume'],
    flag_constraints: {
      '--rm': { value: 'none' },
      '--interactive': { short: '-i', value: 'none' },
      '--volume': { short: '-v', value: 'required' },
    },
    args: [{ enum: ['no.such.registry.invalid/x'] }],
    rest: 'any',
  };
  const argv = allowed(
    [rule],
    ['docker', 'run', '-iv./a:/b', '--rm', 'no.such.registry.invalid/x', '--nonsense', '-zz'],
  );
  // Nobody listens there, so that docker gets no further than its own arguments: nonsense of its own it refuses first.
  const closed = { ...env(), DOCKER_HOST: 'unix:///nonexistent.sock' };
  const ours = spawnSync('docker', argv, { cwd: dir, encoding: 'utf8', env: closed, timeout: 30_000 });
  assert.match(ours.stderr, /connect|daemon/i);
  const theirs = spawnSync('docker', ['run', '--nonsense', 'x'], {
    cwd: dir,
    encoding: 'utf8',
    env: closed,
    timeout: 30_000,
  });
  assert.match(theirs.stderr, /unknown flag/);
});

void test('ssh: options, host and command are what they were', installed('ssh'), () => {
  const rule: RuleSpec = {
    flags: ['-G', '-p', '-F'],
    flag_constraints: { '-G': { value: 'none' }, '-p': { type: 'int' }, '-F': { enum: ['/dev/null'] } },
    args: [{ enum: ['build.example.com'] }],
    rest: 'any',
  };
  const shown = run(
    'ssh',
    allowed([rule], ['ssh', '-Gp2222', '-F', '/dev/null', 'build.example.com', 'uptime', '-oProxyCommand=x']),
  );
  assert.match(shown, /^hostname build\.example\.com$/m);
  assert.match(shown, /^port 2222$/m);
  assert.doesNotMatch(shown, /proxycommand/);
  // Directly after the host it would have been an option.
  assert.match(
    run('ssh', ['-G', '-F', '/dev/null', 'build.example.com', '-oProxyCommand=x']),
    /^proxycommand x$/m,
  );
});

void test('kubectl: attached values, one spelling for all', installed('kubectl'), () => {
  const rule: RuleSpec = {
    subcommand: 'version',
    flags: ['--client', '--output'],
    flag_constraints: { '--client': { value: 'none' }, '--output': { short: '-o', enum: ['json'] } },
  };
  const shown = JSON.parse(
    run('kubectl', allowed([rule], ['kubectl', 'version', '-ojson', '--client'])),
  ) as object;
  assert.ok('clientVersion' in shown);
});

void test('cargo: attached values', installed('cargo'), async () => {
  await writeFile(
    path.join(dir, 'Cargo.toml'),
    '[package]\nname = "x"\nversion = "1.0.0"\nedition = "2021"\n',
  );
  await writeFile(path.join(dir, 'src', 'main.rs'), 'fn main() {}\n');
  const rule: RuleSpec = {
    subcommand: 'metadata',
    flags: ['--format-version', '--no-deps', '--offline', '--quiet'],
    flag_constraints: {
      '--format-version': { enum: ['1'] },
      '--no-deps': { value: 'none' },
      '--offline': { value: 'none' },
      '--quiet': { short: '-q', value: 'none' },
    },
  };
  const home = { ...env(), HOME: process.env['HOME'] ?? dir };
  const argv = allowed(
    [rule],
    ['cargo', 'metadata', '-q', '--format-version', '1', '--no-deps', '--offline'],
  );
  const { stdout, stderr, status } = spawnSync('cargo', argv, {
    cwd: dir,
    encoding: 'utf8',
    env: home,
    timeout: 60_000,
  });
  assert.equal(status, 0, stderr);
  assert.ok(stdout.includes('"name":"x"'));
});
