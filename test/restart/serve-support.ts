/** A gateway of `serve --name` on a host whose service manager is a stand-in. */
import { execFile } from 'node:child_process';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { main, world } from '../gateway/support.ts';

export type Json = Record<string, unknown>;

/** A host whose `systemctl` writes down how it was called. */
export async function host(t: TestContext, vars: Readonly<Record<string, string>>) {
  const it = world(t);
  const bin = path.join(it.dir, 'bin');
  const calls = path.join(it.dir, 'calls');
  await mkdir(bin);
  await mkdir(path.join(it.dir, 'run'), { mode: 0o700 });
  await writeFile(calls, '');
  const script = `#!/bin/sh\nprintf '%s\\n' "$*" >> ${calls}\n[ "$2" = restart ] || { echo 'no such unit' >&2; exit 5; }\n`;
  await writeFile(path.join(bin, 'systemctl'), script);
  await chmod(path.join(bin, 'systemctl'), 0o755);
  Object.assign(it.env, {
    PATH: `${bin}:${it.env['PATH']}`,
    XDG_RUNTIME_DIR: path.join(it.dir, 'run'),
    XDG_STATE_HOME: path.join(it.dir, 'state'),
  });
  const words = ['serve', '--config', it.config, '--json', '--name', 'tools'];
  const gateway = await it.serve({ args: words, env: vars });
  const asked = async (...more: string[]) => {
    const { code, out } = await run({ ...it.env }, 'restart', 'tools', '--json', ...more);
    return { code, json: JSON.parse(out) as Json };
  };
  return { it, gateway, asked, calls: () => readFile(calls, 'utf8') };
}

export function run(env: Readonly<Record<string, string>>, ...args: string[]) {
  return new Promise<{ code: number; out: string; err: string }>((resolve, reject) => {
    execFile(process.execPath, [main, ...args], { env }, (error, out, err) => {
      const code = error === null ? 0 : error.code;
      if (typeof code === 'number') resolve({ code, out, err });
      else reject(error ?? new Error('no exit code'));
    });
  });
}

export const armed = {
  WRAPTOOL_OPERATOR_AUTHORIZATION: '1',
  WRAPTOOL_RESTART_HOOK: 'systemd:wraptool@tools.service',
};
