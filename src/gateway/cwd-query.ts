import { hasHidden } from '../policy/text.ts';

/** What the URL says about the working directory. `cwd: null`: nothing. */
export type CwdQuery =
  | { readonly ok: true; readonly cwd: string | null }
  | { readonly ok: false; readonly code: 'request_malformed' | 'cwd_invalid'; readonly detail: string };

const longestPath = 4095;

/**
 * Reads `cwd` from a raw query (without "?"). It is the only parameter there may be, once, encoded once.
 * Never guesses: two readers of one query must not see two folders.
 */
export function parseCwdQuery(query: string): CwdQuery {
  const values: string[] = [];
  // What follows # is a fragment, which no server is meant to see.
  for (const pair of query.split('#', 1)[0]!.split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = decode(equals === -1 ? pair : pair.slice(0, equals));
    if (name !== 'cwd') {
      return {
        ok: false,
        code: 'request_malformed',
        detail: "the URL may have no parameter other than 'cwd'",
      };
    }
    const value = decode(equals === -1 ? '' : pair.slice(equals + 1));
    if (value === null) return invalid('cwd is not valid UTF-8 or wrongly encoded');
    if (/%[0-9A-Fa-f]{2}/.test(value)) return invalid('cwd is encoded twice');
    values.push(value);
  }
  if (values.length > 1) return invalid('cwd is given more than once');
  return { ok: true, cwd: values[0] ?? null };
}

/** Why a path that a client named can't be opened at all, or null. */
export function pathProblem(path: string): string | null {
  if (path === '') return 'the working directory is empty';
  if (!path.startsWith('/')) return 'the working directory is not an absolute path';
  if (!path.isWellFormed() || hasHidden(path, false)) return 'the working directory has hidden characters';
  if (Buffer.byteLength(path) > longestPath) return 'the working directory is too long';
  return null;
}

function invalid(detail: string): CwdQuery {
  return { ok: false, code: 'cwd_invalid', detail };
}

/** One decoding, as in a form: "+" is a space. Null for invalid escapes or UTF-8. */
function decode(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch (error) {
    if (error instanceof URIError) return null;
    throw error;
  }
}
