import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, lstat, mkdir, mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { loadDescriptor } from '../../src/harness/descriptor.ts';
import { parseDescriptor } from '../../src/harness/parse.ts';
import { plannedInstall, provide, type ProvideOptions } from '../../src/harness/provide.ts';
import type { DescriptorData } from '../../src/harness/schema.ts';
import { needs } from '../support/real.ts';
import { outerAddress, startRegistry, type Registry } from './registry.ts';

const address = outerAddress();
const real = needs('linux', 'bubblewrap', 'network-private');
const options = real.skip === undefined && address === null ? { skip: 'this host has loopback alone' } : real;

/** What a hostile install script tries; the answers lie in its own folder, where the test reads them. */
const hostile = `
const fs = require('fs'), net = require('net'), os = require('os'), path = require('path');
const attempt = (work) => { try { return String(work()); } catch (error) { return error.code || error.message; } };
const reach = (host, port) => new Promise((resolve) => {
  const socket = net.connect({ host, port: Number(port), timeout: 3000 });
  socket.on('connect', () => { socket.end(); resolve('connected'); });
  socket.on('timeout', () => { socket.destroy(); resolve('no answer'); });
  socket.on('error', (error) => resolve(error.code));
});
const targets = JSON.parse(fs.readFileSync(path.join(__dirname, 'targets.json'), 'utf8'));
(async () => {
  const report = {
    env: Object.keys(process.env).filter((name) => !/^(npm_|INIT_CWD|NODE$|COLOR|EDITOR)/i.test(name)).sort(),
    settings: Object.keys(process.env).filter((name) => /^npm_config_(registry|https?_proxy|.*auth)/i.test(name)
      && process.env[name] === targets.registry),
    home: fs.readdirSync(os.homedir()).filter((name) => name !== '.npm'),
    secret: attempt(() => fs.readFileSync(targets.secret, 'utf8')),
    outside: attempt(() => fs.writeFileSync(targets.outside, 'x')),
    usr: attempt(() => fs.writeFileSync('/usr/wraptool-was-here', 'x')),
    processes: fs.readdirSync('/proc').filter((name) => /^\\d+$/.test(name)).length < 12,
    loopback: await reach('127.0.0.1', targets.loopbackPort),
    slirpLoopback: await reach('10.0.2.2', targets.loopbackPort),
    registry: await reach(targets.host, targets.port),
  };
  fs.writeFileSync(path.join(__dirname, 'tool'), '#!/bin/sh\\necho ran\\n');
  report.setuid = attempt(() => fs.chmodSync(path.join(__dirname, 'tool'), 0o6777));
  fs.writeFileSync(path.join(__dirname, 'report.json'), JSON.stringify(report));
  fs.chmodSync(path.join(__dirname, 'tool'), 0o777);
  fs.symlinkSync('/etc/passwd', path.join(__dirname, 'link'));
})();
`;

const scratch = await mkdtemp(path.join(os.tmpdir(), 'wraptool-provide-'));
const home = path.join(scratch, 'home');
let registry: Registry;
let loopback: net.Server;
let loopbackHits = 0;

before(async () => {
  await mkdir(home);
  await writeFile(path.join(home, 'secret'), 'the operator’s own');
  loopback = net.createServer((socket) => {
    loopbackHits += 1;
    socket.end();
  });
  await once(loopback.listen(0, '127.0.0.1'), 'listening');
  const host = address ?? '127.0.0.1';
  const loopbackPort = (loopback.address() as net.AddressInfo).port;
  const scripts = { postinstall: 'node evil.js' };
  const plain = { 'bin/tool': '#!/bin/sh\necho plain\n' };
  registry = await startRegistry(host, (port) => {
    const outside = path.join(scratch, 'outside');
    const targets = { secret: path.join(home, 'secret'), outside, loopbackPort, host, port };
    const files = { 'evil.js': hostile, 'targets.json': JSON.stringify(targets) };
    return [
      { name: 'evil', version: '1.0.0', files, scripts, dependencies: { unlisted: '1.0.0' } },
      { name: 'unlisted', version: '1.0.0', files: {}, scripts: { postinstall: 'touch ran' } },
      { name: 'nosy', version: '1.0.0', files: plain, scripts: { postinstall: 'env > env; ls ~ > home' } },
      { name: 'plain', version: '1.0.0', files: plain },
      { name: 'plain', version: '1.1.0', files: plain },
      { name: 'fifo', version: '1.0.0', files: plain, scripts: { postinstall: 'mkfifo pipe' } },
      {
        name: 'broken',
        version: '1.0.0',
        files: plain,
        scripts: { postinstall: "printf '\\033[31mno\\n'; exit 3" },
      },
      { name: '@scope/plain', version: '1.0.0', files: plain },
    ];
  });
});

after(async () => {
  await registry.close();
  loopback.close();
  await rm(scratch, { recursive: true, force: true });
});

function descriptor(
  name: string,
  more = '',
  command = `%{harness}/node_modules/${name}/bin/tool`,
): DescriptorData {
  return parseDescriptor(
    `version: 1\nname: probe\ntitle: A probe\ncommand: ['${command}']\nlist_changed: false\n` +
      `install: { npm: { package: '${name}', version: 1.0.0${more} } }\n`,
    'probe.yaml',
  );
}

type Run = ProvideOptions & { readonly said: string[]; readonly cache: string };

async function run(change: Partial<ProvideOptions> = {}): Promise<Run> {
  const cache = await mkdtemp(path.join(scratch, 'cache-'));
  const said: string[] = [];
  return {
    env: {
      PATH: process.env['PATH'],
      HOME: home,
      XDG_CACHE_HOME: cache,
      npm_config_registry: registry.url,
      GH_TOKEN: 'a credential',
    },
    confineInstall: 'auto',
    progress: (message) => said.push(message),
    signal: new AbortController().signal,
    ...change,
    said,
    cache,
  };
}

/** What lies in the harness's folder, locks left out. */
async function present({ cache }: Run): Promise<string[]> {
  const names = await readdir(path.join(cache, 'wraptool/harnesses/probe'));
  return names.filter((name) => !name.endsWith('.lock')).sort();
}

const tarballs = (name: string): number =>
  registry.asked.filter((where) => where.startsWith(`${name}/-/`)).length;

describe('an installation', options, () => {
  test('is made once, recorded, readable for everybody, and used again without the registry', async () => {
    const once = await run();
    const before = tarballs('plain');
    const first = await provide(descriptor('plain'), once);
    const tree = path.join(once.cache, 'wraptool/harnesses/probe/1.0.0/tree');
    assert.deepEqual(first, {
      version: '1.0.0',
      dir: tree,
      readOnly: [{ source: tree, target: '/opt/wraptool/harness' }],
    });
    assert.deepEqual(plannedInstall(descriptor('plain'), once), first);
    assert.deepEqual(await present(once), ['1.0.0']);
    assert.equal((await stat(path.join(tree, 'node_modules/plain/bin/tool'))).mode & 0o7777, 0o555);
    assert.equal((await stat(path.join(tree, 'node_modules/plain/package.json'))).mode & 0o222, 0);
    const receipt = JSON.parse(await readFile(path.join(tree, '../install.json'), 'utf8')) as Record<
      string,
      unknown
    >;
    const integrity = registry.integrity('plain', '1.0.0');
    assert.deepEqual(
      { ...receipt, tree: typeof receipt['tree'], installed: typeof receipt['installed'] },
      {
        receipt: 1,
        package: 'plain',
        version: '1.0.0',
        integrity,
        packages: { 'node_modules/plain': { version: '1.0.0', integrity } },
        tree: 'string',
        installed: 'string',
      },
    );
    const offline = { ...once, env: { ...once.env, npm_config_registry: 'http://192.0.2.1:9/' } };
    assert.deepEqual(await provide(descriptor('plain'), offline), first);
    assert.equal(tarballs('plain') - before, 1);
    assert.deepEqual(once.said, [`fetching plain 1.0.0 from ${registry.url}`, 'fetched 1.0.0.tgz']);
  });

  test('of another version lies beside', async () => {
    const both = await run();
    await provide(descriptor('plain'), both);
    const other = await provide(descriptor('plain'), { ...both, version: '1.1.0' });
    assert.equal(other?.version, '1.1.0');
    assert.deepEqual(await present(both), ['1.0.0', '1.1.0']);
  });

  test('of a scoped package works', async () => {
    assert.equal((await provide(descriptor('@scope/plain'), await run()))?.version, '1.0.0');
  });

  test('asked for by several at once is made once', async () => {
    const together = await run();
    const before = tarballs('plain');
    const given = await Promise.all([1, 2, 3].map(() => provide(descriptor('plain'), together)));
    assert.equal(new Set(given.map((one) => one?.dir)).size, 1);
    assert.equal(tarballs('plain') - before, 1);
    assert.deepEqual(await present(together), ['1.0.0']);
  });

  test('that was damaged since is made anew, and what a dead process left aside is removed', async () => {
    const twice = await run();
    const first = await provide(descriptor('plain'), twice);
    const file = path.join(first?.dir ?? '', 'node_modules/plain/bin/tool');
    await chmod(file, 0o755);
    await writeFile(file, 'other');
    await mkdir(path.join(twice.cache, 'wraptool/harnesses/probe/.1.0.0.new-dead/tree'), { recursive: true });
    await provide(descriptor('plain'), twice);
    assert.equal(await readFile(file, 'utf8'), '#!/bin/sh\necho plain\n');
    assert.deepEqual(await present(twice), ['1.0.0']);
    assert.ok(
      twice.said.some((line) => line.endsWith('is damaged: making it anew')),
      twice.said.join('\n'),
    );
  });

  test('with other bytes than the descriptor names is refused before anything of it runs', async () => {
    const refused = await run();
    const wrong = `sha512-${'A'.repeat(86)}==`;
    const pinned = descriptor('evil', `, scripts: [evil], integrity: { evil: '${wrong}' }`, '/bin/true');
    await assert.rejects(provide(pinned, refused), {
      code: 'harness_install_failed',
      message: '"evil" 1.0.0 is not what the descriptor expects',
      problems: [`expected ${wrong}`, `found ${registry.integrity('evil', '1.0.0')}`],
    });
    assert.deepEqual(await present(refused), []);
    assert.ok(!refused.said.some((line) => line.startsWith('running')));
  });

  test('that was made before the descriptor named its bytes is not taken when they differ', async () => {
    const later = await run();
    await provide(descriptor('plain'), later);
    const pinned = descriptor('plain', `, integrity: { plain: 'sha512-${'A'.repeat(86)}==' }`);
    await assert.rejects(provide(pinned, later), {
      message: '"plain" 1.0.0 is not what the descriptor expects',
    });
    assert.ok(later.said.some((line) => line.endsWith('is of another origin: making it anew')));
  });

  test('ends with its signal and leaves nothing', async () => {
    const controller = new AbortController();
    const ended = await run({ signal: controller.signal });
    registry.hang = true;
    try {
      const asked = registry.asked.length;
      const work = provide(descriptor('plain'), ended);
      const outcome = assert.rejects(work, { message: 'enough' });
      const waiting = setInterval(() => {
        if (registry.asked.slice(asked).some((where) => where.includes('/-/')))
          controller.abort(new Error('enough'));
      }, 20);
      await outcome;
      clearInterval(waiting);
    } finally {
      registry.hang = false;
    }
    assert.deepEqual(await present(ended), []);
    // The lock came back: the next one does not wait.
    await provide(descriptor('plain'), { ...ended, signal: new AbortController().signal });
  });

  test('waiting for another one’s can be given up', async () => {
    const controller = new AbortController();
    const first = await run({ signal: controller.signal });
    registry.hang = true;
    try {
      const asked = registry.asked.length;
      const working = assert.rejects(provide(descriptor('plain'), first), { message: 'both' });
      while (registry.asked.length === asked) await new Promise((resolve) => setTimeout(resolve, 20));
      const impatient = new AbortController();
      const waiting = provide(descriptor('plain'), {
        ...first,
        signal: impatient.signal,
        progress: () => impatient.abort(new Error('tired')),
      });
      await assert.rejects(
        waiting,
        (error: Error) => error.name === 'AbortError' || error.message === 'tired',
      );
      controller.abort(new Error('both'));
      await working;
    } finally {
      registry.hang = false;
    }
  });
});

describe('a hostile package', options, () => {
  const everything = {
    env: ['HOME', 'LANG', 'PATH', 'PWD'],
    settings: [],
    home: [],
    secret: 'ENOENT',
    outside: 'ENOENT',
    usr: 'EROFS',
    setuid: 'EPERM',
    processes: true,
  };

  const unreachable = ['ECONNREFUSED', 'ENETUNREACH', 'ECONNRESET', 'ETIMEDOUT', 'no answer'];
  for (const [name, network, outerSays] of [
    ['without network', '', 'ENETUNREACH'],
    ['with the private network', ', scripts_network: true', 'connected'],
  ] as const)
    test(`reaches nothing of the host from its install script, ${name}`, async () => {
      const caught = await run();
      const hits = loopbackHits;
      const given = await provide(
        descriptor('evil', `, scripts: [evil]${network}`, '%{harness}/node_modules/evil/tool'),
        caught,
      );
      const folder = path.join(given?.dir ?? '', 'node_modules/evil');
      const report = JSON.parse(await readFile(path.join(folder, 'report.json'), 'utf8')) as Record<
        string,
        unknown
      >;
      const { loopback: own, slirpLoopback, registry: outer, ...rest } = report;
      assert.deepEqual(
        {
          ...rest,
          env: (rest['env'] as string[]).filter((one) => one !== '_' && one !== 'SHLVL' && one !== 'OLDPWD'),
        },
        everything,
      );
      for (const said of [own, slirpLoopback]) assert.ok(unreachable.includes(String(said)), String(said));
      assert.equal(outer, outerSays);
      assert.equal(loopbackHits, hits);
      assert.equal(existsSync(path.join(scratch, 'outside')), false);
      assert.equal((await lstat(path.join(folder, 'tool'))).mode & 0o7777, 0o555);
      assert.equal(
        existsSync(path.join(given?.dir ?? '', 'node_modules/unlisted/ran')),
        false,
        'an unlisted script ran',
      );
    });

  test('that leaves a special file is refused', async () => {
    const refused = await run();
    await assert.rejects(provide(descriptor('fifo', ', scripts: [fifo]'), refused), {
      code: 'harness_install_failed',
      message: 'the installation holds a special file "node_modules/fifo/pipe"',
    });
    assert.deepEqual(await present(refused), []);
  });

  test('whose script fails is told with its words, without their control characters', async () => {
    const refused = await run();
    await assert.rejects(
      provide(descriptor('broken', ', scripts: [broken]'), refused),
      (error: Error & { problems: string[] }) => {
        assert.match(error.message, /^the installation of "broken" 1\.0\.0 ended with \d+$/);
        const said = error.problems.join('\n');
        assert.ok(said.includes('[31mno'), said);
        assert.ok(!said.includes('\u001b'));
        return true;
      },
    );
    assert.deepEqual(await present(refused), []);
  });

  test('without the file that the descriptor runs is refused', async () => {
    await assert.rejects(
      provide(descriptor('plain', '', '%{harness}/node_modules/plain/bin/else'), await run()),
      {
        code: 'harness_install_failed',
        message: 'the package came without "node_modules/plain/bin/else", which the descriptor runs',
      },
    );
  });
});

describe('without confinement, which is the operator’s own word,', options, () => {
  test('an installation still gets neither the environment nor the HOME of the host', async () => {
    const given = await provide(
      descriptor('nosy', ', scripts: [nosy]'),
      await run({ confineInstall: 'none' }),
    );
    const folder = path.join(given?.dir ?? '', 'node_modules/nosy');
    assert.ok(!(await readFile(path.join(folder, 'env'), 'utf8')).includes('GH_TOKEN'));
    assert.equal(await readFile(path.join(folder, 'home'), 'utf8'), '');
  });
});

describe('refused with what to do next:', options, () => {
  const hint = (text: RegExp) => (error: Error & { code?: string; hint?: string }) => {
    assert.equal(error.code, 'harness_install_failed');
    assert.match(error.hint ?? '', text);
    return true;
  };

  test('a version that the registry does not have', async () => {
    await assert.rejects(
      provide(descriptor('plain'), await run({ version: '9.9.9' })),
      hint(/no such version/),
    );
  });
  test('a registry that cannot be reached', async () => {
    const away = await run();
    const env = { ...away.env, npm_config_registry: `http://${address}:1/`, npm_config_fetch_retries: '0' };
    await assert.rejects(provide(descriptor('plain'), { ...away, env }), hint(/cannot be reached/));
  });
  test('a registry on the host’s loopback', async () => {
    const away = await run();
    const env = { ...away.env, npm_config_registry: 'http://127.0.0.1:1/' };
    await assert.rejects(provide(descriptor('plain'), { ...away, env }), hint(/on this host's loopback/));
  });
  test('a machine without npm', async () => {
    const away = await run();
    await assert.rejects(
      provide(descriptor('plain'), { ...away, env: { ...away.env, PATH: '/nonexistent' } }),
      hint(/install npm/),
    );
  });
});

for (const version of [
  'latest',
  '^1.0.0',
  '1.0',
  '../1.0.0',
  '1.0.0/..',
  '',
  '1.0.0 || 2.0.0',
  `1.0.0-${'a'.repeat(80)}`,
])
  test(`"${version.slice(0, 20)}" is no exact version`, async () => {
    await assert.rejects(provide(descriptor('plain'), await run({ version })), { code: 'usage' });
  });

test('a harness that is not installed has neither an installation nor versions', async () => {
  const shell = await loadDescriptor('shell', { HOME: home });
  assert.equal(await provide(shell, await run()), null);
  assert.equal(plannedInstall(shell, { env: { HOME: home } }), null);
  await assert.rejects(provide(shell, await run({ version: '1.0.0' })), { code: 'usage' });
});

test(
  'Claude Code itself is installed and runs',
  { ...needs('linux', 'bubblewrap', 'network-private', 'npm-registry'), timeout: 600_000 },
  async () => {
    const claude = await loadDescriptor('claude', { HOME: home });
    const cache = await mkdtemp(path.join(scratch, 'claude-'));
    const given = await provide(claude, {
      env: { ...process.env, XDG_CACHE_HOME: cache },
      confineInstall: 'auto',
      progress: () => undefined,
      signal: new AbortController().signal,
    });
    const binary = path.join(given?.dir ?? '', 'node_modules/@anthropic-ai/claude-code/bin/claude.exe');
    const said = execFileSync(binary, ['--version'], { encoding: 'utf8', env: { HOME: home }, cwd: home });
    assert.equal(said, '2.1.332 (Claude Code)\n');
  },
);
