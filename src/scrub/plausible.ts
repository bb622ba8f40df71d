/** Is what stands at the place of a secret one, or a placeholder, a reference in source code, a word of a manual? */
import type { Place } from './places.ts';

const placeholder =
  /^(?:[<$%{*([].*|[*•.xX_#-]+|\$?\{+.*|null|none|nil|undefined|true|false|yes|no|on|off|empty|redacted|\[?redacted.*|changeme|change[_-]me.*|your[_-].*|my[_-]?(?:password|secret|token)|example.*|placeholder.*|dummy.*|insert[_-].*|todo|string|optional|required|number|boolean|any|unknown|object|hidden|masked|prompt|stdin|file|same-origin|not[ _-].*|password|passwd|secret|token|value)$/i;
/** user.password, process.env.TOKEN, os.environ, self.token: letters only, joined by dots. */
const reference = /^[A-Za-z_$][A-Za-z_$]*(?:\??\.[A-Za-z_$][\w$]*)+$/;
const path = /^(?:~|\.{1,2})?(?:\/[A-Za-z0-9_.-]{1,64}){2,}\/?$/;
const url = /^[a-z][a-z0-9+.-]{1,20}:\/\//i;
/** my-app-secret-1, default-token-x2x9q */
const slug = /^[a-z]{1,16}(?:[-_.][a-z0-9]{1,12})+$/;

export function isPlausible(value: string, place: Place, text: string, start: number): boolean {
  if (place.trust === 'sure') return true;
  if (placeholder.test(value)) return false;
  if (place.name === 'url-password' && place.trust === 'strong')
    return !value.includes('${') && !value.startsWith(':');
  if (url.test(value) || path.test(value)) return false;
  if (place.trust === 'weak') return looksRandom(value);
  if (place.name === 'secret') return isAssigned(value, text, start);
  return true;
}

/** After `=` or in quotes: any value but code and prose. */
function isAssigned(value: string, text: string, start: number): boolean {
  const quoted = /["']/.test(text.charAt(start - 1));
  if (quoted) return !/\s/.test(value) || looksRandom(value.replaceAll(' ', ''));
  // foo(password=password, token=get()) is code: an identifier, or a call.
  const next = text.charAt(start + value.length);
  if (next === '(' || next === '[' || next === '{' || reference.test(value)) return false;
  const key = /[A-Za-z0-9_-]*=$/.exec(text.slice(Math.max(0, start - 80), start))?.[0] ?? '';
  const shouted = key === key.toUpperCase();
  const option = text.slice(Math.max(0, start - 80), start).includes('--');
  if (shouted || option) return value.length >= 5 || /[0-9]/.test(value);
  return looksRandom(value) || (value.length >= 8 && !/^[A-Za-z_$][\w$.]*$/.test(value));
}

/** Letters and digits mixed, or letters of both cases in no order of words, not a slug or a reference. */
function looksRandom(value: string): boolean {
  if (reference.test(value) || slug.test(value)) return false;
  const digits = /[0-9]/.test(value);
  const letters = /[A-Za-z]/.test(value);
  if (digits && letters) return value.length >= 6;
  if (!letters) return digits && value.length >= 16;
  const turns = value.match(/[a-z][A-Z]/g)?.length ?? 0;
  return value.length >= 16 && turns >= 4;
}
