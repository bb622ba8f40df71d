/** Who is let in: URL, Host, Origin and token, judged from the request's head alone. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { Limits } from './limits.ts';
import { refuse } from './refusal.ts';

/** Where a request came in; a Unix socket has no Host to forge. */
export type Door = { readonly kind: 'tcp'; readonly host: string } | { readonly kind: 'unix' };

export type Endpoint = '/mcp' | '/sse' | '/messages';
export type Target =
  | { readonly kind: 'health' }
  | { readonly kind: 'nothing' }
  | {
      readonly kind: 'mcp';
      readonly path: Endpoint;
      readonly query: string;
      readonly sessionId: string | null;
    };

const endpoints: ReadonlySet<string> = new Set(['/mcp', '/sse', '/messages']);
/** What a client that looks for OAuth asks for first: "not found" tells it that there is none. */
const oauth = /^\/(?:\.well-known\/.*|register|authorize|token)$/;
const tokenNames = /^(?:access_?token|token|api_?key|key|auth(?:orization)?|bearer|wraptool_token)$/i;
const once = ['authorization', 'host', 'origin', 'mcp-session-id', 'mcp-protocol-version', 'content-length'];

export type Gate = (req: IncomingMessage, door: Door) => Target;

/** Judges a request; throws Refusal 400, 401, 403, 414 or 431. */
export function createGate(token: string, limits: Limits): Gate {
  const expected = digest(token);
  return (req, door) => {
    const url = req.url ?? '';
    if (url.length > limits.urlBytes)
      throw refuse(414, 'url_too_long', `the URL has more than ${limits.urlBytes} bytes`, 'shorten it');
    const [pathname, query] = split(url);
    if (pathname === '/healthz') return { kind: 'health' };
    checkHeaders(req, limits);
    if (door.kind === 'tcp') checkNames(req, door.host);
    if (oauth.test(pathname)) return { kind: 'nothing' };
    const known = endpoints.has(pathname);
    const sessionId = known ? checkQuery(pathname, query) : null;
    checkToken(req, expected);
    if (!known) return { kind: 'nothing' };
    const own = sessionId === null ? query : withoutSession(query);
    return { kind: 'mcp', path: pathname as Endpoint, query: own, sessionId };
  };
}

function split(url: string): [string, string] {
  const mark = url.indexOf('?');
  return mark < 0 ? [url, ''] : [url.slice(0, mark), url.slice(mark + 1)];
}

function checkHeaders(req: IncomingMessage, limits: Limits): void {
  if (req.rawHeaders.length > limits.headers * 2)
    throw refuse(431, 'too_many_headers', `more than ${limits.headers} headers`, 'send fewer');
  const seen = new Set<string>();
  for (let i = 0; i < req.rawHeaders.length; i += 2) {
    const name = (req.rawHeaders[i] as string).toLowerCase();
    if (seen.has(name) && once.includes(name))
      throw refuse(400, 'duplicate_header', `the header '${name}' was sent twice`, 'send it once');
    seen.add(name);
  }
}

const hostShape = /^(\[[0-9a-fA-F:.]+\]|[^:[\]@/?#]+)(?::\d{1,5})?$/;
const originShape = /^https?:\/\/(.+)$/;

/** DNS rebinding: a page that was served under another name must not reach us by that name. */
function checkNames(req: IncomingMessage, listen: string): void {
  const { host, origin } = req.headers;
  if (!isOurs(host, listen))
    throw refuse(
      403,
      'host_not_allowed',
      `the Host header '${host ?? ''}' is not this gateway's`,
      'use the address that the gateway printed',
    );
  if (origin === undefined) return;
  if (!isOurs(originShape.exec(origin)?.[1], listen))
    throw refuse(
      403,
      'origin_not_allowed',
      `pages of '${origin}' may not call this gateway`,
      'call it from an MCP client, not from a web page',
    );
}

function isOurs(authority: string | undefined, listen: string): boolean {
  const name = hostShape.exec(authority ?? '')?.[1]?.toLowerCase();
  if (name === undefined) return false;
  if (name === 'localhost' || name === '127.0.0.1' || name === '[::1]') return true;
  const bare = name.replace(/^\[|\]$/g, '');
  // Whoever listens everywhere is reached by any of the host's addresses, but a rebound name is never an address.
  if (listen === '0.0.0.0' || listen === '::') return isIP(bare) !== 0;
  return bare === listen.toLowerCase();
}

/** Only `cwd` (and on /messages `sessionId`) may stand in the query; the values are judged later, raw. */
function checkQuery(pathname: string, query: string): string | null {
  let sessionId: string | null = null;
  for (const [name, value] of pairs(query)) {
    if (name === 'cwd') continue;
    if (name === 'sessionId' && pathname === '/messages' && sessionId === null) {
      sessionId = value;
      continue;
    }
    if (tokenNames.test(name))
      throw refuse(
        400,
        'token_in_url',
        `the URL has a parameter '${name}': a token in a URL ends up in logs and histories`,
        "send it as the header 'Authorization: Bearer TOKEN'",
      );
    throw refuse(
      400,
      'unknown_parameter',
      `the URL has an unknown parameter '${name}'`,
      "the only parameter is 'cwd', the absolute path of the working directory",
    );
  }
  return sessionId;
}

function pairs(query: string): [name: string, value: string][] {
  if (query === '') return [];
  const parts = query.split('&').filter((pair) => pair !== '');
  return parts.map((pair) => {
    const mark = pair.indexOf('=');
    return mark < 0 ? [pair, ''] : [pair.slice(0, mark), pair.slice(mark + 1)];
  });
}

const withoutSession = (query: string) =>
  query
    .split('&')
    .filter((pair) => !pair.startsWith('sessionId='))
    .join('&');

const digest = (token: string) => createHash('sha256').update(token).digest();

/** Digests of equal length are compared, so that time tells neither the token's length nor its content. */
function checkToken(req: IncomingMessage, expected: Buffer): void {
  const header = req.headers.authorization;
  const given = /^bearer +(\S+) *$/i.exec(header ?? '')?.[1];
  if (given !== undefined && timingSafeEqual(digest(given), expected)) return;
  const said =
    header === undefined
      ? 'no token was sent'
      : given === undefined
        ? 'the Authorization header has no bearer token'
        : 'the token is wrong, or its session has ended';
  throw refuse(
    401,
    'unauthorized',
    `${said}: this gateway asks for the token of its session on every request`,
    "send the header 'Authorization: Bearer TOKEN' with the value of WRAPTOOL_TOKEN",
    {
      'www-authenticate':
        header === undefined ? 'Bearer realm="wraptool"' : 'Bearer realm="wraptool", error="invalid_token"',
    },
  );
}
