/** Runs a shell script in a sandbox on the terminal of this process; survives Ctrl-C as `up` does. */
import { spawnConfined } from '../../src/confine/spawn.ts';
import { base } from './support.ts';

process.on('SIGINT', () => undefined);
const command = ['/bin/sh', '-c', process.argv[2]!];
const { exit } = await spawnConfined({ ...base, terminal: true }, command, { stdio: 'inherit' });
console.log(`exit ${await exit}`);
