/** A place whose engine's client is a recording stand-in that passes all on, for sessions with the workspace's own definition. */
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { testImage } from '../support/image.ts';
import { gitConfig, place, type Place, type Result } from './place.ts';

export const definition = '.devcontainer/devcontainer.json';

/** Names of the images that sessions of this place made with its own definition. */
export function imagesOf({ env, home }: Pick<Place, 'env' | 'home'>): string[] {
  const state = path.join(env['XDG_STATE_HOME'] ?? path.join(home, '.local/state'), 'wraptool');
  const keeper = createHash('sha256').update(state).digest('hex').slice(0, 16);
  const only = ['--filter', `label=wraptool.approved-in=${keeper}`, '--format', '{{.Repository}}:{{.Tag}}'];
  const made = execFileSync('docker', ['image', 'ls', ...only], { encoding: 'utf8' });
  return made.split('\n').filter((name) => /^wraptool-[a-z]+:/.test(name));
}

export type Rig = Place & {
  calls(): Promise<readonly string[][]>;
  up(script: string, ...args: string[]): Promise<Result>;
};

export async function rig(t: TestContext, files: Readonly<Record<string, string>>): Promise<Rig> {
  const at = await place(t);
  t.after(() => imagesOf(at).forEach((name) => spawnSync('docker', ['image', 'rm', name])));
  await at.writeConfig(`${gitConfig}up: { base_image: ${testImage}, network: none }\n`);
  const [bin, log] = [path.join(at.dir, 'bin'), path.join(at.dir, 'calls')];
  await mkdir(bin);
  await writeFile(
    path.join(bin, 'docker'),
    `#!/bin/sh\n{ for word; do printf '%s\\036' "$word"; done; printf '\\035'; } >> '${log}'\nexec ${realDocker()} "$@"\n`,
  );
  await chmod(path.join(bin, 'docker'), 0o755);
  at.env['PATH'] = `${bin}:${at.env['PATH']}`;
  for (const [name, content] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(at.workspace, name)), { recursive: true });
    await writeFile(path.join(at.workspace, name), content);
  }
  return {
    ...at,
    calls: async () =>
      existsSync(log)
        ? (await readFile(log, 'utf8'))
            .split('\u001d')
            .filter(Boolean)
            .map((call) => call.split('\u001e').slice(0, -1))
        : [],
    up: (script, ...args) =>
      at.wraptool(['up', 'shell', '--devcontainer', 'workspace', ...args, '--', '-c', script]),
  };
}

function realDocker(): string {
  return execFileSync('sh', ['-c', 'command -v docker'], { encoding: 'utf8' }).trim();
}
