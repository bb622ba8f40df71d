/** What guix says and is told, without running it. */
import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { describe, test } from 'node:test';
import { guixSettings } from '../../../src/up/runtime/guix-env.ts';
import { explainGuix } from '../../../src/up/runtime/guix-errors.ts';
import { Said } from '../../../src/up/runtime/guix-process.ts';

describe('guix’s words', () => {
  for (const [said, reason, hint] of [
    ['guix shell: error: nosuchpkg: unknown package\n', 'nosuchpkg: unknown package', /guix pull/],
    [
      'guix shell: error: node: package not found for version 99',
      'node: package not found for version 99',
      /guix pull/,
    ],
    [
      "guix shell: error: failed to connect to `/var/guix/daemon-socket/socket': Connection refused",
      "failed to connect to `/var/guix/daemon-socket/socket': Connection refused",
      /guix-daemon/,
    ],
    [
      'could not mount partition /x: ~A: ~A\nguix shell: error: statfs: /x: No such file or directory\n',
      'statfs: /x: No such file or directory',
      /took away a folder/,
    ],
    [
      'guix shell: error: mount: mount "/a" on "/tmp/guix-directory.XXXXXX//b": Not a directory',
      'mount: mount "/a" on "/tmp/guix-directory.XXXXXX//b": Not a directory',
      /stands where a folder/,
    ],
    [
      'guix shell: error: clone: 2114060305: Permission denied',
      'clone: 2114060305: Permission denied',
      /AppArmor/,
    ],
    [
      'guix shell: error: cannot create container: user namespaces unavailable\nguix shell: error: is your kernel version < 3.10?',
      'cannot create container: user namespaces unavailable; is your kernel version < 3.10?',
      /CONFIG_USER_NS/,
    ],
    [
      'guix shell: error: chdir: No such file or directory',
      'chdir: No such file or directory',
      /--workspace/,
    ],
    [
      'guix shell: error: mkdtemp!: "/zz/guix-directory.XXXXXX": No such file or directory',
      'mkdtemp!: "/zz/guix-directory.XXXXXX": No such file or directory',
      /temporary files/,
    ],
    [
      "guix shell: error: '*(' is not a valid regular expression: Invalid preceding regular expression",
      "'*(' is not a valid regular expression: Invalid preceding regular expression",
      /harness_env/,
    ],
    [
      '\u001b[31mguix shell: error: tini: command not found\u001b[0m\u0007\n',
      'tini: command not found',
      /manifest\.scm/,
    ],
    ['building x.drv...\nsomething odd\n', 'something odd', /to see it alone/],
    [
      'bwrap: setting up uid map: Permission denied\n',
      'bwrap: setting up uid map: Permission denied',
      /bubblewrap, which ties guix/,
    ],
    ['', 'guix ended with 1 and said nothing', /to see it alone/],
  ] as const)
    test(JSON.stringify(said), () => {
      const explained = explainGuix(said, 1);
      assert.equal(explained.reason, reason);
      assert.match(explained.hint, hint);
    });
});

test('of the environment guix gets its settings, and nothing from which it would load code', () => {
  const env = {
    GUIX_DAEMON_SOCKET: '/s',
    GUIX_PACKAGE_PATH: '/ws',
    GUIX_EXTENSIONS_PATH: '/ws',
    GUIX_ENVIRONMENT: '/gnu',
    GUIX_BUILD_OPTIONS: '-L/ws',
    GUILE_LOAD_PATH: '/ws',
    API_KEY: 'x',
    XDG_CACHE_HOME: '/c',
  };
  assert.deepEqual(guixSettings(env), { LC_ALL: 'C.UTF-8', GUIX_DAEMON_SOCKET: '/s', XDG_CACHE_HOME: '/c' });
});

test('a guix that is silent is heard of every 2 s, until its container is there', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const heard: string[] = [];
  const stream = new PassThrough();
  const said = new Said(stream, (line) => heard.push(line));
  t.mock.timers.tick(2000);
  stream.emit('data', '\u001b[32mdownloading bash\u001b[0m\nbuilding tini\n');
  t.mock.timers.tick(4000);
  said.end();
  t.mock.timers.tick(4000);
  stream.emit('data', 'the harness could say this');
  const began = heard.map((line) => line.replace(/\d+ s/, 'N s'));
  assert.deepEqual(began, [
    'guix prepares the profile (N s)',
    'building tini',
    'building tini (N s)',
    'building tini (N s)',
  ]);
  assert.doesNotMatch(said.text, /harness/);
});
