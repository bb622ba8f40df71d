/**
 * An editor in a process of its own: `FILE COUNT NUMBER FIRST [STATE]`. Allows COUNT flags one after the other, named
 * from FIRST on; with STATE it adds one entry, or restores it where COUNT is 0. It kills itself at the file system call
 * NUMBER (0: never).
 */
import { editFile } from '../../src/edit/file.ts';
import { addAllowRule } from '../../src/edit/policy.ts';
import { addEntry, restoreEntry } from '../../src/edit/undo.ts';
import { atCall } from './faulty-disk.ts';

const [, , file = '', count = '1', number = '0', first = 'a', folder] = process.argv;
const { disk } = atCall(Number(number), () => process.kill(process.pid, 'SIGKILL'));

if (folder !== undefined) {
  const place = { file, format: 'json', path: ['mcp', 'w'] } as const;
  const outcome =
    count === '0'
      ? await restoreEntry(place, folder, disk)
      : await addEntry(place, { url: first }, folder, disk);
  process.exitCode = outcome.ok ? 0 : 1;
} else {
  for (let index = 0; index < Number(count); index += 1) {
    const request = { tool: 'git', subcommand: 'push', flags: [`--${first}-${index}`] };
    const outcome = await editFile(file, (text) => addAllowRule(text ?? '', request), disk);
    if (!outcome.ok) process.exitCode = 1;
  }
}
