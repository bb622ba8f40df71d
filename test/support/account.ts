/** An account of this machine for the time of a test; made and removed as root. */
import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import type { TestContext } from 'node:test';

const dockerSocket = '/var/run/docker.sock';

export type Account = {
  readonly name: string;
  readonly uid: number;
  /** Words before a command that is to run as this user, with the groups of the account and nothing else of root's. */
  readonly as: readonly string[];
};

/** Makes the account, in the group that may talk to the Docker engine where there is one, and removes it with the test. */
export function account(t: TestContext, uid: number): Account {
  const name = `wraptool-t${uid}`;
  // One of a run that was killed.
  spawnSync('userdel', [name]);
  const engine = statSync(dockerSocket, { throwIfNoEntry: false });
  const groups = engine === undefined ? [] : ['--groups', String(engine.gid)];
  const options = ['--uid', String(uid), '--user-group', '--no-create-home', '--home-dir', '/nonexistent'];
  const made = spawnSync('useradd', [...options, ...groups, name], { encoding: 'utf8' });
  if (made.status !== 0) throw new Error(`useradd: ${made.stderr}`);
  t.after(() => {
    const gone = spawnSync('userdel', [name], { encoding: 'utf8' });
    if (gone.status !== 0) throw new Error(`userdel: ${gone.stderr}`);
  });
  const gid = spawnSync('id', ['-g', name], { encoding: 'utf8' }).stdout.trim();
  return { name, uid, as: ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--init-groups', '--'] };
}
