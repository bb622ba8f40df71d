import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Expected, Finding } from './types.ts';

export function checkWorkspace({ workspace }: Expected): Finding[] {
  const fault = (detail: string, mend: string): Finding[] => [
    { check: 'workspace', level: 'fault', detail, mend },
  ];
  const who = `user ${process.getuid?.() ?? 0}`;
  if (process.cwd() !== workspace)
    return fault(`a command starts in ${process.cwd()}, not in ${workspace}`, 'report this');
  try {
    readdirSync(workspace);
  } catch (error) {
    return fault(
      `${workspace} cannot be read by ${who} (${(error as NodeJS.ErrnoException).code})`,
      'give its owner the right to read it: chmod u+rX',
    );
  }
  try {
    accessSync(workspace, constants.W_OK);
    return [];
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const mend =
      code === 'EROFS'
        ? 'it lies on a read-only file system: mount that writable, or go on without changes'
        : 'give its owner the right to write: chmod u+w, or go on without changes';
    return [
      { check: 'workspace', level: 'warning', detail: `${workspace} cannot be written by ${who}`, mend },
    ];
  }
}

export async function checkGit({ workspace }: Expected): Promise<Finding[]> {
  if (!existsSync(join(workspace, '.git'))) return [];
  const warning = (detail: string, mend: string): Finding[] => [
    { check: 'git', level: 'warning', detail, mend },
  ];
  const [folder, log] = await Promise.all([
    git(workspace, 'rev-parse', '--absolute-git-dir'),
    git(workspace, 'log', '-1', '--format=%h'),
  ]);
  if (folder.missing)
    return warning('there is no git inside', 'install git in the base image (guix: in the manifest)');
  if (folder.failure !== null)
    return warning(
      `git does not take ${workspace} for a repository: ${folder.failure}`,
      'run "git status" there; a linked worktree needs its repository, "git worktree repair" mends the pointers',
    );
  if (log.failure !== null && !/does not have any commits yet/.test(log.failure))
    return warning(`git cannot read the repository: ${log.failure}`, 'run "git fsck" there');
  try {
    accessSync(folder.said, constants.W_OK);
    return [];
  } catch {
    return warning(`git cannot write to ${folder.said}`, 'look at the owner and mode of that folder');
  }
}

type Said = { readonly said: string; readonly failure: string | null; readonly missing: boolean };

function git(cwd: string, ...args: readonly string[]): Promise<Said> {
  return new Promise((resolve) => {
    execFile('git', args, { cwd, timeout: 5000, encoding: 'utf8' }, (error, stdout, stderr) => {
      const failure = error === null ? null : (stderr.trim().split('\n')[0] ?? '') || error.message;
      resolve({ said: stdout.trim(), failure, missing: error?.code === 'ENOENT' });
    });
  });
}
