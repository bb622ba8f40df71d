/** The page's listener: its files, its API, and nothing for whoever does not know where it is. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo, Socket } from 'node:net';
import { WraptoolError } from '../errors.ts';
import type { Asset } from './assets.ts';
import { createCrowd, type Crowd } from './crowd.ts';
import { checkNames, headers, namesOf } from './gate.ts';
import type { Live } from './live.ts';
import type { Login, Logins } from './logins.ts';
import { answerOf, WebRefusal } from './refusal.ts';
import { assertMay, stringOf, type Office, type Route } from './route.ts';

// Not imported: an import of node:http loads all of fetch and WebSocket with it.
const { createServer } = createRequire(import.meta.url)('node:http') as typeof import('node:http');

export type PageOptions = {
  readonly listen: { readonly host: string; readonly port: number };
  readonly assets: ReadonlyMap<string, Asset>;
  readonly logins: Logins;
  readonly routes: readonly Route[];
  readonly office: Office;
  readonly live: Live;
  /** Strings that leave; what a route marks as written by the operator for the operator is not one of them. */
  readonly scrub: (value: unknown) => unknown;
  readonly fault: (error: unknown) => void;
};

export type Page = {
  /** Ends with a slash. */
  readonly url: string;
  close(): Promise<void>;
};

const bodyBytes = 512 * 1024;
/** Of whoever has no login yet. */
const loginBytes = 4 * 1024;
const strangers = 64;

/** Listens; throws WraptoolError address_in_use, gateway_failed. */
export async function openPage(options: PageOptions): Promise<Page> {
  // Not a credential, which the login is: whoever shares the host's network finds no page to look at.
  const place = `/${randomBytes(16).toString('hex')}/`;
  let names: ReadonlySet<string> = new Set();
  const server = createServer({
    maxHeaderSize: 16 * 1024,
    headersTimeout: 10_000,
    requestTimeout: 30_000,
    connectionsCheckingInterval: 5_000,
    noDelay: true,
  });
  server.maxConnections = 512;
  const crowd = createCrowd(strangers);
  server.on('connection', (socket: Socket) => crowd.came(socket));
  server.on('request', (req: IncomingMessage, res: ServerResponse) => {
    serve(options, { names, place, crowd }, req, res).catch((error: unknown) =>
      turnAway(options, res, error),
    );
  });
  await listen(server, options.listen);
  const { port, address, family } = server.address() as AddressInfo;
  names = namesOf({ host: options.listen.host, port });
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}${place}`,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      options.live.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

type Here = { readonly names: ReadonlySet<string>; readonly place: string; readonly crowd: Crowd };

async function serve(
  options: PageOptions,
  { names, place, crowd }: Here,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  checkNames(req.headers, names);
  const url = req.url ?? '';
  if (!equal(url.slice(0, place.length), place)) throw notFound();
  crowd.known(req.socket);
  const [path = '', query = ''] = url.slice(place.length).split('?', 2);
  if (!path.startsWith('api/')) return sendAsset(options, req, res, path);
  const name = path.slice('api/'.length);
  if (name === 'login') return login(options, req, res);
  const token = bearer(req);
  const who = token === null ? null : options.logins.of(token);
  if (token === null || who === null)
    throw new WebRefusal(
      401,
      'unauthorized',
      'this needs a login: open a new link with "wraptool admin open"',
      {
        'www-authenticate': 'Bearer realm="wraptool page"',
      },
    );
  if (name === 'logout' && req.method === 'POST') {
    options.logins.end(token);
    return sendJson(res, 200, { ok: true });
  }
  if (name === 'events' && req.method === 'GET') {
    assertMay(who.role, 'requests.read');
    return options.live.attach(res, headers, who);
  }
  await api(options, who, req, res, name, query);
}

async function api(
  { routes, office, scrub }: PageOptions,
  { role }: Login,
  req: IncomingMessage,
  res: ServerResponse,
  name: string,
  query: string,
): Promise<void> {
  const here = routes.filter(({ path }) => path.test(name));
  const route = here.find(({ method }) => method === req.method);
  if (route === undefined)
    throw here.length === 0 ? notFound() : new WebRefusal(405, 'method_not_allowed', 'not by this method');
  assertMay(role, route.action);
  const parts = route.path.exec(name)?.slice(1) ?? [];
  const body = route.method === 'POST' ? await readBody(req, bodyBytes) : {};
  const answer = await route.run(office, { role, parts, query: new URLSearchParams(query), body });
  sendJson(res, 200, scrub(answer));
}

async function login(
  { logins, live }: PageOptions,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  if (req.method !== 'POST') throw new WebRefusal(405, 'method_not_allowed', 'not by this method');
  const given = logins.exchange(stringOf(await readBody(req, loginBytes), 'secret', 200));
  if (given.kind === 'in')
    return sendJson(res, 200, {
      token: given.token,
      role: given.login.role,
      id: given.login.id,
      // What the page shows first: one way less until it is there.
      requests: await live.list(),
    });
  if (given.kind === 'too often')
    throw new WebRefusal(429, 'too_many_logins', 'too many wrong links: wait a minute', {
      'retry-after': String(Math.ceil(given.retryMs / 1000)),
    });
  throw new WebRefusal(
    401,
    'login_refused',
    'this link was used already, or is too old: "wraptool admin open" gives another one',
  );
}

function sendAsset({ assets }: PageOptions, req: IncomingMessage, res: ServerResponse, name: string): void {
  const asset = assets.get(name);
  if (asset === undefined) throw notFound();
  if (req.method !== 'GET' && req.method !== 'HEAD')
    throw new WebRefusal(405, 'method_not_allowed', 'not by this method');
  res.writeHead(200, { ...headers, 'content-type': asset.type, 'content-length': asset.bytes.length });
  res.end(req.method === 'HEAD' ? undefined : asset.bytes);
}

function sendJson(
  res: ServerResponse,
  status: number,
  value: unknown,
  more: Readonly<Record<string, string>> = {},
): void {
  const bytes = Buffer.from(JSON.stringify(value));
  res.writeHead(status, {
    ...headers,
    ...more,
    'content-type': 'application/json',
    'content-length': bytes.length,
  });
  res.end(bytes);
}

function turnAway({ fault, scrub }: PageOptions, res: ServerResponse, error: unknown): void {
  const known = answerOf(error);
  if (known === null) fault(error);
  if (res.headersSent || res.destroyed) {
    res.destroy();
    return;
  }
  const { status, body } = known ?? {
    status: 500,
    body: {
      error: {
        code: 'internal',
        message: 'a fault of wraptool itself: its terminal says more',
        hint: null,
        problems: [],
      },
    },
  };
  // What of the body was not read would be taken for the next request.
  sendJson(res, status, scrub(body), {
    ...(error instanceof WebRefusal ? error.headers : {}),
    connection: 'close',
  });
}

const notFound = () => new WebRefusal(404, 'not_found', 'there is nothing here');

/** Digests are compared, so that time tells nothing. */
function equal(one: string, other: string): boolean {
  const [a, b] = [one, other].map((text) => createHash('sha256').update(text).digest()) as [Buffer, Buffer];
  return timingSafeEqual(a, b);
}

function bearer(req: IncomingMessage): string | null {
  return /^Bearer ([\w-]{20,100})$/.exec(req.headers.authorization ?? '')?.[1] ?? null;
}

async function readBody(req: IncomingMessage, most: number): Promise<Readonly<Record<string, unknown>>> {
  if (req.headers['content-type']?.split(';', 1)[0]?.trim() !== 'application/json')
    throw new WebRefusal(415, 'body_invalid', 'the body must be JSON');
  const bytes = await wholeBody(req, most);
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'));
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Readonly<Record<string, unknown>>;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new WebRefusal(400, 'body_invalid', 'the body must be a JSON object');
}

async function wholeBody(req: IncomingMessage, most: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of req as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > most) throw new WebRefusal(413, 'body_too_large', `this body has at most ${most} bytes`);
      chunks.push(chunk);
    }
  } catch (error) {
    // A tab that was closed is no fault of ours.
    if ((error as NodeJS.ErrnoException).code === 'ECONNRESET')
      throw new WebRefusal(400, 'body_invalid', 'the body ended early');
    throw error;
  }
  return Buffer.concat(chunks);
}

function listen(server: Server, { host, port }: PageOptions['listen']): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) =>
      reject(
        new WraptoolError(
          cause.code === 'EADDRINUSE' ? 'address_in_use' : 'gateway_failed',
          cause.code === 'EADDRINUSE'
            ? `the page cannot be served: something listens on ${host}:${port} already`
            : `the page cannot be served on ${host}:${port}: ${cause.message}`,
          { hint: 'set "admin.listen" to another port (0 takes a free one)', cause },
        ),
      ),
    );
    server.listen({ host, port }, () => {
      server.removeAllListeners('error');
      resolve();
    });
  });
}
