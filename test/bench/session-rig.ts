/** A private place for the benchmark of sessions: HOME, config, workspace, and the programs that it compares. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { ensureTestImage } from '../support/image.ts';

export const runtimes = ['devcontainer', 'bubblewrap'] as const;
export type RuntimeName = (typeof runtimes)[number];

/** ms from the start to its first output, and from there to its end. */
export type Course = { readonly start: number; readonly end: number };

export type Rig = ReturnType<typeof makeRig>;

/** `program`: words that stand for `wraptool`. Give it back with `remove`. */
export function makeRig(program: readonly string[]) {
  const image = ensureTestImage();
  const dir = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'wraptool-session-')));
  const [workspace, run, tmp] = ['src/app', 'run', 'tmp'].map((name) => path.join(dir, name)) as [
    string,
    string,
    string,
  ];
  for (const folder of [workspace, tmp]) fs.mkdirSync(folder, { recursive: true });
  fs.mkdirSync(run, { mode: 0o700 });
  const env = { PATH: process.env['PATH'] ?? '', HOME: dir, XDG_RUNTIME_DIR: run, TMPDIR: tmp };
  const git = (...words: string[]): Buffer => execFileSync('git', words, { cwd: workspace, env });
  git('init', '-q', '-b', 'main');
  fs.writeFileSync(path.join(workspace, 'README.md'), 'hello\n');
  git('add', '-A');
  git('-c', 'user.name=a', '-c', 'user.email=a@example.org', 'commit', '-qm', 'first');
  fs.mkdirSync(path.join(dir, '.config/wraptool'), { recursive: true });
  fs.writeFileSync(
    path.join(dir, '.config/wraptool/config.yaml'),
    `version: 1\nup: { base_image: ${image}, network: none }\ntools: { git: { binary: /usr/bin/git, allow: [{ subcommand: status, read_only: true }] } }\n`,
    { mode: 0o600 },
  );
  const plain = ownDefinition(dir, tmp, image);

  const begin = (words: readonly string[]) => {
    const child = spawn(words[0]!, words.slice(1), {
      cwd: workspace,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
    return { child, said: () => said };
  };
  const course = async (words: readonly string[]): Promise<Course> => {
    const began = performance.now();
    const { child, said } = begin(words);
    const closed = once(child, 'close');
    let first = NaN;
    child.stdout.once('data', () => (first = performance.now()));
    const [code] = (await closed) as [number | null];
    if (code !== 0) throw new Error(`${words.join(' ')} ended with ${code}: ${said()}`);
    return { start: first - began, end: performance.now() - first };
  };
  const up = (runtime: RuntimeName, name: string, script: string): string[] => [
    ...[...program, '--quiet', 'up', 'shell', '--runtime', runtime, '--name', name],
    ...['--workspace', workspace, '--', '-c', script],
  ];
  return {
    env,
    course,
    up: (runtime: RuntimeName) => course(up(runtime, 'measured', 'echo here')),
    exec: (name: string) => course([...program, 'exec', name, '--', 'echo', 'here']),
    /** A session that lasts; resolves when its harness runs. */
    live: async (runtime: RuntimeName) => {
      const { child, said } = begin(up(runtime, `live-${runtime}`, 'echo here; sleep 100000'));
      const closed = once(child, 'close');
      const ended = closed.then(() => Promise.reject(new Error(`the session ended: ${said()}`)));
      await Promise.race([once(child.stdout, 'data'), ended]);
      return {
        name: `live-${runtime}`,
        end: async () => {
          ended.catch(() => undefined);
          child.kill('SIGTERM');
          await closed;
        },
      };
    },
    /** `devcontainer up`; the container's id. */
    plainUp: (): string =>
      (
        JSON.parse(
          lastLine(
            execFileSync(plain[0]!, plain.slice(1), { env, cwd: dir, stdio: ['ignore', 'pipe', 'ignore'] }),
          ),
        ) as { containerId: string }
      ).containerId,
    remove: () => fs.rmSync(dir, { recursive: true, force: true }),
  };
}

/** argv of `devcontainer up` as somebody without wraptool would call it. */
function ownDefinition(dir: string, tmp: string, image: string): readonly string[] {
  const folder = path.join(dir, 'plain');
  fs.mkdirSync(path.join(folder, '.devcontainer'), { recursive: true });
  fs.writeFileSync(path.join(folder, '.devcontainer/devcontainer.json'), JSON.stringify({ image }));
  // Present and fresh: the CLI would ask the network for it, and that is not what is measured.
  const cache = path.join(tmp, `devcontainercli-${os.userInfo().username}`);
  fs.mkdirSync(cache);
  fs.writeFileSync(
    path.join(cache, 'control-manifest.json'),
    JSON.stringify({ disallowedFeatures: [], featureAdvisories: [] }),
  );
  const cli = createRequire(import.meta.url).resolve('@devcontainers/cli/package.json');
  return [
    process.execPath,
    path.join(path.dirname(cli), 'devcontainer.js'),
    'up',
    '--workspace-folder',
    folder,
  ];
}

function lastLine(output: Buffer): string {
  return output.toString('utf8').trim().split('\n').at(-1) ?? '';
}
