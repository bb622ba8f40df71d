/** What guix itself is run with: the operator's settings for guix, nothing else of his, never a secret of the harness. */
import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';

type Env = Readonly<Record<string, string | undefined>>;

/** Not what makes guix load code from a folder: a workspace's own environment may have set it. */
const theirs =
  /^(GUIX_(?!(ENVIRONMENT|PACKAGE_PATH|EXTENSIONS_PATH|BUILD_OPTIONS)$)[A-Z_]+|XDG_(CACHE|CONFIG)_HOME)$/;

export function guixSettings(env: Env): Record<string, string> {
  // Untranslated: what guix says is looked up in a table.
  const made: Record<string, string> = { LC_ALL: 'C.UTF-8' };
  for (const [name, value] of Object.entries(env)) {
    if (theirs.test(name) && value !== undefined) made[name] = value;
  }
  return made;
}

/**
 * HOME of this process's user by the user database, from where guix takes HOME inside: where the caller's differs, it
 * would be on the read-only root. Null where there is no entry.
 */
export function callerHome(): string | null {
  try {
    return userInfo().homedir;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_SYSTEM_ERROR') return null;
    throw error;
  }
}

/** The same for any user. */
export function homeOf(uid: number): string | null {
  if (uid === process.getuid?.()) return callerHome();
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((entry) => entry.split(':')[2] === String(uid));
  return line?.split(':')[5] ?? null;
}
