/** A real gateway with the operator's page, and who logs in to it. */
import * as fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { openLog } from '../../src/log/append.ts';
import { world, type Gateway, type World } from '../gateway/support.ts';
import { askInvitation, findDoors } from '../../src/web/door.ts';

export const date = `
  date:
    binary: /usr/bin/date
    guard: none
    allow:
      - flags: [--utc]   # the hour of the ships
        flag_constraints: { --utc: { value: none } }
        match: [--utc]
    deny: [{ flags: [--set] }]
`;

export type Site = {
  readonly it: World;
  readonly gateway: Gateway;
  /** A new link, as the command line asks for it. */
  readonly link: (...flags: string[]) => Promise<string>;
  /** Of the page, without a secret. */
  readonly base: string;
};

export async function site(
  t: TestContext,
  change: (config: string) => string = (text) => text,
): Promise<Site> {
  const it = world(t, (text) => change(`${text.replace('\ntools:\n', `\ntools:${date}`)}admin: {}\n`));
  const gateway = await it.serve();
  const link = async (...flags: string[]) => {
    for (const door of await findDoors(it.env)) {
      const found = await askInvitation(door, flags.includes('--viewer') ? 'viewer' : 'operator');
      if (found !== null) return found.url;
    }
    throw new Error('no page is served');
  };
  const base = (await link('--viewer')).replace(/#.*$/, '');
  return { it, gateway, link, base };
}

export type Reply = {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly text: string;
  readonly json: Record<string, unknown>;
};

/** One request with exactly these headers. */
export function send(
  url: string,
  {
    method = 'GET',
    headers = {},
    body,
  }: { method?: string; headers?: Record<string, string>; body?: unknown } = {},
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const typed = body === undefined ? {} : { 'content-type': 'application/json' };
    const req = http.request(url, { method, headers: { ...typed, ...headers }, agent: false }, (res) => {
      let text = '';
      res.setEncoding('utf8').on('data', (part: string) => (text += part));
      res.on('end', () => {
        const isJson = res.headers['content-type'] === 'application/json';
        const json = (isJson ? JSON.parse(text) : {}) as Record<string, unknown>;
        resolve({ status: res.statusCode ?? 0, headers: res.headers, text, json });
      });
    });
    req.on('error', reject);
    req.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

export const codeOf = ({ json }: Reply): unknown => (json['error'] as { code: string } | undefined)?.code;

export type Visitor = (path: string, body?: unknown) => Promise<Reply>;

/** Logs in by a link; a request with a body is a POST. */
export async function visitor(link: string): Promise<Visitor> {
  const [base = '', secret = ''] = link.split('#login=');
  const login = await send(`${base}api/login`, { method: 'POST', body: { secret } });
  if (login.status !== 200) throw new Error(login.text);
  const headers = { authorization: `Bearer ${String(login.json['token'])}` };
  return (where, body) =>
    send(`${base}api/${where}`, body === undefined ? { headers } : { method: 'POST', headers, body });
}

export type Wish = {
  readonly id: string;
  readonly argv?: readonly string[];
  readonly tool?: string;
  readonly rationale?: string;
  readonly enables?: string;
  readonly client?: string;
  readonly cwd?: string;
};

/** Requests as a gateway writes them, of a session that is a bare gateway's. */
export async function put(it: World, ...wishes: readonly Wish[]): Promise<void> {
  fs.mkdirSync(it.log, { recursive: true, mode: 0o700 });
  const log = await openLog(it.log);
  for (const { id, argv = ['--utc', '--iso-8601'], tool = 'date', rationale = 'why', ...more } of wishes)
    log.append({
      event: 'requested',
      id,
      digest: id,
      tool,
      subcommand: [],
      flags: argv.filter((word) => word.startsWith('--')),
      args: null,
      call: 'a:1',
      rationale,
      enables: more.enables ?? null,
      client: more.client ?? 'test/1',
      session_id: 'serve-0000000000000000',
      config_file: it.config,
      argv: [...argv],
      cwd: more.cwd ?? path.join(it.dir, 'src'),
    });
  log.close();
}

export { pause };
