/** Names of refs and objects; everything that a workspace says is checked by these before it is used. */
import { Refusal } from './refusal.ts';

export const objectId = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

/** A full name as `git check-ref-format` takes it, and shorter than 256 characters. */
export function isRefName(name: string): boolean {
  if (!/^refs\/[^\s~^:?*[\\\p{Cc}]+$/u.test(name) || name.length > 255) return false;
  if (
    name.includes('..') ||
    name.includes('//') ||
    name.includes('@{') ||
    name.endsWith('/') ||
    name.endsWith('.')
  )
    return false;
  return name.split('/').every((part) => part !== '' && !part.startsWith('.') && !part.endsWith('.lock'));
}

export type Refspec = {
  readonly force: boolean;
  /** As written; empty for a deletion. */
  readonly source: string;
  /** As written; null when there was no colon. */
  readonly target: string | null;
};

/** @throws Refusal for wildcards, `:` alone and names that no ref can have. */
export function parseRefspec(text: string): Refspec {
  const force = text.startsWith('+');
  const body = force ? text.slice(1) : text;
  if (body.includes('*')) throw new Refusal(`the refspec '${text}' has a wildcard; name each branch`);
  if (body.startsWith('^'))
    throw new Refusal(`the refspec '${text}' is negative; name each branch that is meant`);
  const colon = body.lastIndexOf(':');
  const source = colon === -1 ? body : body.slice(0, colon);
  const target = colon === -1 ? null : body.slice(colon + 1);
  if (body === ':') throw new Refusal(`the refspec '${text}' pushes every matching branch; name each branch`);
  if (source.startsWith('-') || target?.startsWith('-'))
    throw new Refusal(`'${text}' could be read as an option`);
  return { force, source, target };
}

/** `main` as `refs/heads/main`; a full name stays. @throws Refusal when it cannot be a ref. */
export function fullName(name: string, folder: 'refs/heads/' | 'refs/tags/'): string {
  const full = name.startsWith('refs/') ? name : `${folder}${name.replace(/^(?:heads|tags)\//, '')}`;
  if (!isRefName(full)) throw new Refusal(`'${name}' is not the name of a branch or tag`);
  return full;
}

/** As git shows it: without refs/heads/, refs/tags/ or refs/remotes/. */
export function shortName(name: string): string {
  return name.replace(/^refs\/(?:heads|tags|remotes)\//, '');
}
