/** Another process, of another user where it is asked for, at the other end of a Unix socket. Linux, as root. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** A user that owns nothing of a test. */
export const stranger = 65534;

/** In `sh` words: connects, sends, and says what came, or the error's code. */
const program = `
const [file, text, how] = process.argv.slice(1);
const socket = require('net').connect(file);
let said = '';
socket.on('data', (part) => (said += part));
socket.on('error', (error) => { console.log('error ' + error.code); process.exit(); });
socket.on('close', () => console.log('said ' + said));
socket.on('connect', () => (how === 'leaves' ? socket.end(text, () => socket.destroy()) : socket.write(text)));
`;

/**
 * What a process of that user is answered: `error CODE`, or `said TEXT` once the other side has closed. `leaves`: it does not
 * wait for an answer.
 */
export async function askAs(
  uid: number,
  file: string,
  text: string,
  how: 'waits' | 'leaves' = 'waits',
): Promise<string> {
  const words = ['--reuid', String(uid), '--regid', String(uid), '--clear-groups', '--'];
  const child = spawn('setpriv', [...words, process.execPath, '-e', program, file, text, how], {
    cwd: '/',
    env: { PATH: process.env['PATH'] },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let out = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => (out += part));
  await once(child, 'close');
  return out.trim();
}
