import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, realpath, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { confinedCommand } from '../../src/confine/command.ts';
import type { ConfineSpec } from '../../src/confine/types.ts';
import { needs } from '../support/real.ts';
import { base } from './support.ts';

const real = needs('bubblewrap');

function words(spec: Partial<ConfineSpec> = {}): string[] {
  const { file, args } = confinedCommand({ ...base, ...spec }, ['/bin/true']);
  return [file, ...args];
}

function follows(list: readonly string[], ...sequence: string[]): boolean {
  return list.some((_, index) => sequence.every((word, offset) => list[index + offset] === word));
}

test(
  'every sandbox has its own namespaces, no capability, a system call filter and a read-only root',
  real,
  () => {
    for (const network of ['none', 'host', 'private'] as const) {
      for (const terminal of [true, false]) {
        const list = words({ network, terminal });
        for (const option of [
          '--unshare-user',
          '--unshare-ipc',
          '--unshare-pid',
          '--unshare-uts',
          '--unshare-cgroup',
        ]) {
          assert.ok(list.includes(option), `${option} with ${network}`);
        }
        assert.ok(follows(list, '--cap-drop', 'ALL'));
        assert.ok(follows(list, '--seccomp', '4'));
        assert.ok(list.includes('--die-with-parent') && list.includes('--clearenv'));
        assert.equal(list.lastIndexOf('--remount-ro'), list.indexOf('--chdir') - 2);
        assert.ok(follows(list, '--remount-ro', '/', '--chdir'));
        assert.equal(list.includes('--new-session'), !terminal);
      }
    }
  },
);

test('the environment is never on the command line', real, () => {
  const built = confinedCommand({ ...base, env: { WRAPTOOL_TOKEN: 'hunter2hunter2' } }, ['/bin/true']);
  assert.equal(JSON.stringify([built.file, built.args, built.env]).includes('hunter2'), false);
  assert.equal(Buffer.from(built.fds[0]!.content).toString(), '--setenv\0WRAPTOOL_TOKEN\0hunter2hunter2\0');
});

test('the file system of the host is never bound whole', real, () => {
  assert.equal(follows(words(), '--ro-bind', '/', '/'), false);
  assert.equal(
    words().some((word) => word.includes('shadow') || word.includes('ssl/private')),
    false,
  );
});

test('a private network that nobody sets up stays an empty one', real, () => {
  const built = confinedCommand({ ...base, network: 'private' }, ['/bin/true']);
  assert.match(built.file, /\/unshare$/);
  assert.ok(built.args.includes('--net'));
  assert.equal(built.networkFd, 7);
});

test('impossible variables are refused, because they could carry an option of bubblewrap', real, () => {
  for (const env of [{ 'A=B': '1' }, { '': '1' }, { A: '1\0--bind\0/\0/' }, { 'A\0--bind\0/\0/': '' }]) {
    assert.throws(() => confinedCommand({ ...base, env }, ['/bin/true']), { code: 'internal' });
  }
});

test('paths that are not absolute and normal are refused', real, () => {
  for (const source of ['relative', '/a/../b', '/a/', '/a//b', '/a\0b']) {
    const bind = { source, target: '/x' };
    assert.throws(() => words({ readOnly: [bind] }), { code: 'internal' }, source);
    assert.throws(
      () => words({ writable: [{ source: '/tmp', target: source }] }),
      { code: 'internal' },
      source,
    );
  }
  assert.throws(() => words({ cwd: 'here' }), { code: 'internal' });
});

test('links that an agent left in a writable folder are refused as source and as target', real, async () => {
  const top = await realpath(await mkdtemp(path.join(tmpdir(), 'wraptool-test-')));
  const ws = path.join(top, 'ws');
  await mkdir(path.join(ws, 'real/hooks'), { recursive: true });
  await symlink('/root', path.join(ws, 'link'));
  await symlink('real', path.join(ws, 'inner'));
  const writable = [{ source: ws, target: '/ws' }];
  const refused = { code: 'workspace_refused' };
  const over = (source: string, target: string) => words({ writable, readOnlyOver: [{ source, target }] });
  assert.throws(() => over(`${ws}/link`, '/ws/real'), refused);
  assert.throws(() => over(`${ws}/link/.ssh`, '/ws/real'), refused);
  assert.throws(() => over('/usr/share', '/ws/link'), refused);
  assert.throws(() => over('/usr/share', '/ws/inner/hooks'), refused);
  assert.throws(
    () => words({ writable, readOnly: [{ source: '/usr/share', target: '/ws/link/x' }] }),
    refused,
  );
  assert.throws(() => words({ writable, links: [{ source: 'x', target: '/ws/link/x' }] }), refused);
  assert.ok(over(`${ws}/real/hooks`, '/ws/real/hooks').length > 0);
});

test('only root can run as somebody else', real, (t) => {
  t.mock.method(process as { getuid(): number }, 'getuid', () => 1500);
  assert.throws(() => words({ user: { uid: 1, gid: 1 } }), { code: 'confine_unavailable' });
});

test('root drops to the owner before bubblewrap starts', needs('bubblewrap', 'root'), () => {
  const list = words({ user: { uid: 1500, gid: 1501 } });
  assert.match(list[0]!, /\/setpriv$/);
  assert.deepEqual(list.slice(1, 4), ['--reuid=1500', '--regid=1501', '--clear-groups']);
});

test(
  'root mounts nothing that lies below a writable folder, whatever its modes',
  needs('bubblewrap', 'root'),
  async () => {
    const top = await realpath(await mkdtemp(path.join(tmpdir(), 'wraptool-test-')));
    await chmod(top, 0o755);
    await mkdir(`${top}/ws/.git/hooks`, { recursive: true });
    await mkdir(`${top}/private/tool`, { recursive: true });
    await chmod(`${top}/ws/.git`, 0);
    await chmod(`${top}/private`, 0o700);
    const list = words({
      user: { uid: 1500, gid: 1500 },
      writable: [{ source: `${top}/ws`, target: '/ws' }],
      readOnlyOver: [{ source: `${top}/ws/.git/hooks`, target: '/ws/.git/hooks' }],
      readOnly: [{ source: `${top}/private/tool`, target: '/tool' }],
    });
    const staged = list.slice(list.indexOf('stage') + 1, list.indexOf('--', list.indexOf('stage')));
    assert.deepEqual(staged, [`${top}/private/tool`]);
  },
);
