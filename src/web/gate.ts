/** What of a request is judged before anything else looks at it: Host, Origin, and where it comes from. */
import type { IncomingHttpHeaders } from 'node:http';
import { WebRefusal } from './refusal.ts';

/** Sent with whatever is answered. Nothing of the page is embedded, kept, or told to another site. */
export const headers: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), microphone=(), geolocation=(), clipboard-read=()',
  'cache-control': 'no-store',
};

/**
 * The names that this listener has, port and all: a page of another port of this host is a stranger, and so is one that
 * reached us by a name that was pointed here.
 */
export function namesOf(listen: { readonly host: string; readonly port: number }): ReadonlySet<string> {
  const host = listen.host.includes(':') ? `[${listen.host}]` : listen.host;
  return new Set([host, 'localhost', '127.0.0.1', '[::1]'].map((name) => `${name}:${listen.port}`));
}

/** Throws WebRefusal 403. */
export function checkNames(sent: IncomingHttpHeaders, names: ReadonlySet<string>): void {
  const { host, origin } = sent;
  if (host === undefined || !names.has(host.toLowerCase()))
    throw new WebRefusal(403, 'host_not_allowed', 'this is not the name of this page');
  const site = sent['sec-fetch-site'];
  const foreign =
    (origin !== undefined && origin !== `http://${host.toLowerCase()}`) ||
    // A link that is followed from elsewhere opens the page; it reads nothing of it.
    (site !== undefined &&
      !['same-origin', 'none'].includes(String(site)) &&
      sent['sec-fetch-mode'] !== 'navigate');
  if (foreign) throw new WebRefusal(403, 'origin_not_allowed', 'other pages may not call this one');
}
