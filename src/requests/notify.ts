/** Tells the operator of a new request by a program of theirs, in the background. */
import { spawn } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import path from 'node:path';

type Env = Readonly<Record<string, string | undefined>>;

const searchPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
/** What a desktop notification needs of the operator's session; no secret is among them. */
const passed = ['HOME', 'DBUS_SESSION_BUS_ADDRESS', 'DISPLAY', 'WAYLAND_DISPLAY', 'XDG_RUNTIME_DIR'];
const patienceMs = 10_000;
const mostAtOnce = 4;

/** A name that is a word to every program: no option, no markup, no character that does not show. */
const plainName = /^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$/;

export interface Notifier {
  /** Runs `argv` with the request's id and the tool's name after it. Never throws; what fails is told. */
  notify(argv: readonly string[], request: { readonly id: string; readonly tool: string }): void;
}

export function createNotifier(env: Env, warn: (line: string) => void): Notifier {
  let running = 0;
  return {
    notify(argv, { id, tool }) {
      const [program, ...fixed] = argv;
      if (program === undefined || running >= mostAtOnce) return;
      running += 1;
      // The name is the agent's: as a whole word, or not at all.
      run(program, [...fixed, id, plainName.test(tool) ? tool : 'unnamed'], env)
        .catch((error: unknown) =>
          warn(`requests.notify: "${program}": ${error instanceof Error ? error.message : String(error)}`),
        )
        .finally(() => {
          running -= 1;
        });
    },
  };
}

async function run(program: string, args: readonly string[], env: Env): Promise<void> {
  const file = program.includes('/') ? program : await found(program);
  const kept = passed.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]] as const]));
  await new Promise<void>((resolve, reject) => {
    const child = spawn(file, args, {
      cwd: '/',
      env: { PATH: searchPath, LANG: 'C.UTF-8', ...Object.fromEntries(kept) },
      stdio: 'ignore',
      detached: true,
    });
    const timer = setTimeout(() => {
      // The whole group: it may have started others.
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    }, patienceMs);
    child.once('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.once('exit', (code, signal) => {
      clearTimeout(timer);
      if (code === 0) resolve();
      else reject(new Error(signal === null ? `exit code ${code}` : `ended by ${signal}`));
    });
    child.unref();
  });
}

async function found(name: string): Promise<string> {
  for (const folder of searchPath.split(':')) {
    const file = path.join(folder, name);
    try {
      await access(file, constants.X_OK);
      return file;
    } catch (error) {
      if (!['ENOENT', 'EACCES', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    }
  }
  throw new Error(`there is no such program in ${searchPath}`);
}
