/** Stands for a gateway: runs a command that leaves processes, says "up", and waits to be killed. */
import { tmpdir } from 'node:os';
import { createExecutor } from '../../src/executor/run.ts';
import { startSpawner } from '../../src/executor/spawner.ts';
import { frozen, openDir, through } from './support.ts';

const time = process.argv[2]!;
const executor = createExecutor({ spawner: startSpawner(), scrub: { stream: through }, guards: {} });
const script = `trap "" TERM; (setsid sleep ${time} &); sleep ${time} & echo up; sleep ${time}`;
const call = await frozen('/bin/sh', ['-c', script], { cwd: await openDir(tmpdir()) });
await executor.run(call, { signal: new AbortController().signal, onLine: (line) => console.log(line) });
