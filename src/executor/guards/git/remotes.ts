/** Pinned remotes: the operator's word for where a name leads, whatever the repository says. */
import { isAbsolute, normalize } from 'node:path';
import { Refusal } from './refusal.ts';

export type Pinned = {
  readonly name: string;
  readonly url: string;
  /** What git may speak with it (GIT_ALLOW_PROTOCOL). */
  readonly protocol: 'https' | 'http' | 'ssh' | 'file';
  /** Folder of a file:// remote. */
  readonly path: string | null;
};

const host = String.raw`(?:[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,252})|\[[0-9A-Fa-f:.]{2,45}\])`;
const userinfo = String.raw`(?:[A-Za-z0-9_%][^@/\s\\]{0,255}@)?`;
const web = new RegExp(String.raw`^(https?)://${userinfo}${host}(?::\d{1,5})?/[^\s\\]{1,1024}$`);
const secureShell = new RegExp(String.raw`^ssh://${userinfo}${host}(?::\d{1,5})?/[^\s\\]{1,1024}$`);
const scpLike = new RegExp(String.raw`^${userinfo}${host}:(?![/:-]{2}|-)[^\s\\]{1,1024}$`);

/**
 * @param allowFile a folder of this machine: only where the operator wrote it
 * @returns null for anything but https, http, ssh, user@host:path and file:///absolute
 */
export function parseUrl(name: string, url: string, { allowFile }: { allowFile: boolean }): Pinned | null {
  if (/[\p{Cc}\p{Cf}]/u.test(url)) return null;
  const matched = web.exec(url);
  if (matched !== null) return { name, url, protocol: matched[1] as 'https' | 'http', path: null };
  if (secureShell.test(url)) return { name, url, protocol: 'ssh', path: null };
  if (url.startsWith('file:///')) {
    const path = url.slice('file://'.length);
    if (!allowFile || !isAbsolute(path) || normalize(path) !== path) return null;
    return { name, url, protocol: 'file', path };
  }
  if (!url.includes('::') && !url.includes('://') && scpLike.test(url))
    return { name, url, protocol: 'ssh', path: null };
  return null;
}

/**
 * The pinned remote that a call means by a name or by a pinned URL; without either, origin or the only one.
 * @throws Refusal that says which are pinned.
 */
export function pinnedRemote(asked: string | undefined, remotes: Readonly<Record<string, string>>): Pinned {
  const names = Object.keys(remotes);
  if (names.length === 0)
    throw new Refusal("no remote is pinned; the operator adds it to 'remotes' of the tool");
  const list = names.map((name) => `'${name}'`).join(', ');
  const name =
    asked === undefined
      ? Object.hasOwn(remotes, 'origin')
        ? 'origin'
        : only(names)
      : byNameOrUrl(asked, remotes);
  if (name === null) {
    const what = asked === undefined ? 'the call names no remote' : `'${asked}' is not a pinned remote`;
    throw new Refusal(`${what}; pinned: ${list}`);
  }
  const pinned = parseUrl(name, remotes[name]!, { allowFile: true });
  if (pinned === null || !/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(name)) {
    throw new Refusal(
      `the pinned remote '${name}' is no https, ssh or file:/// address that the guard can use`,
    );
  }
  return pinned;
}

function byNameOrUrl(asked: string, remotes: Readonly<Record<string, string>>): string | null {
  if (Object.hasOwn(remotes, asked)) return asked;
  return Object.keys(remotes).find((name) => remotes[name] === asked) ?? null;
}

function only(names: readonly string[]): string | null {
  return names.length === 1 ? names[0]! : null;
}
