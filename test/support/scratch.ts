/** Folders of this process's tests, gone when it ends. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

let parent: string | undefined;
let count = 0;

/** A new empty folder; its path has no links. */
export function scratch(): string {
  if (parent === undefined) {
    const made = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'wraptool-test-')));
    process.once('exit', () => rmSync(made, { recursive: true, force: true }));
    parent = made;
  }
  const folder = path.join(parent, String((count += 1)));
  mkdirSync(folder, { mode: 0o700 });
  return folder;
}
