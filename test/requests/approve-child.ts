/** Approves in a process of its own: `DIR ID NUMBER`, and kills itself at the file system call NUMBER (0: never). */
import path from 'node:path';
import { atCall } from '../edit/faulty-disk.ts';
import { apply, deskOf } from './desk-support.ts';

const [, , dir = '', id = '', number = '0'] = process.argv;
const { disk, calls } = atCall(Number(number), () => process.kill(process.pid, 'SIGKILL'));
const at = { dir, log: path.join(dir, 'log'), config: path.join(dir, 'config.yaml'), env: { HOME: dir } };
await deskOf(at, disk).approve(id, apply());
process.stdout.write(JSON.stringify(calls));
