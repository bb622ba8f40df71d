/** A process that does nothing but start what it is told to, and says how long that took, in ms. */
import { spawn } from 'node:child_process';
import { spawnConfined } from '../../src/confine/spawn.ts';
import type { ConfineSpec } from '../../src/confine/types.ts';

export type Order =
  | { readonly file: string; readonly args: readonly string[]; readonly cwd: string }
  | { readonly spec: ConfineSpec; readonly command: readonly string[] };

process.on('message', (order: Order) => {
  run(order).then(
    (took) => process.send?.(took),
    (error: unknown) => {
      throw error;
    },
  );
});

async function run(order: Order): Promise<number> {
  const started = performance.now();
  const stdio = ['ignore', 'pipe', 'pipe'] as const;
  if ('spec' in order) {
    const { child, exit } = await spawnConfined(order.spec, order.command, {
      stdio: [...stdio],
      detached: true,
    });
    child.stdout?.resume();
    child.stderr?.resume();
    await exit;
  } else {
    const child = spawn(order.file, order.args, { cwd: order.cwd, env: { HOME: '/' }, stdio: [...stdio] });
    child.stdout.resume();
    await new Promise((resolve) => child.on('close', resolve));
  }
  return performance.now() - started;
}
