/** Runs every benchmark, one after the other, and fails where one of them breaks: npm run bench [NAME...] */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = new URL('./', import.meta.url);
const wanted = process.argv.slice(2);
const names = readdirSync(folder)
  .filter((name) => name.endsWith('.bench.ts'))
  .filter((name) => wanted.length === 0 || wanted.some((one) => name.startsWith(one)));

for (const name of names) {
  process.stdout.write(`# ${name.replace('.bench.ts', '')}\n`);
  const { status } = spawnSync(process.execPath, [fileURLToPath(new URL(name, folder))], {
    stdio: 'inherit',
  });
  if (status !== 0) process.exitCode = 1;
}
