/** How a gateway can be recognised: its command line, process name, unit, container and files. */
import { fillHoles, isKnown } from './holes.ts';
import type { Machine } from './machine.ts';
import { globMatches, type Match } from './pattern.ts';
import type { ReasonClass } from './types.ts';

/** Names of the process: node's own, that of its main thread in newer versions, and the title. */
const processNames = ['node', 'MainThread', 'wraptool'];
/** What the sessions' containers hang on. */
const engineNames = ['dockerd', 'containerd', 'bwrap'];
/** Other programs of the kinds that are hit together with a gateway by what is too wide. */
const otherLines = ['node /srv/a/index.js', '/usr/bin/node /srv/a/index.js'];
/** A session is named for its harness and its folder where nobody named it. */
const exampleNames = ['claude-app', 'codex-web', 'gemini-api', 'opencode-app'];
const proposed = /^(?:claude|codex|gemini|opencode|copilot|qwen|cursor|aider|goose)(?:-[a-z0-9-]*)?$/;
/** What the path in front of /wraptool may hold; nothing is known of it. */
const folders = [
  '/usr/local/bin',
  '/usr/lib/node_modules/.bin',
  '/home/dev/.local/share/mcp-gateway/bin',
  '/opt',
];

export type Width = 'none' | 'gateway' | 'fleet';

function lines(names: readonly string[]): string[] {
  const each = [...new Set([...names, ...exampleNames])].slice(0, 64);
  return [
    ...folders.map((folder) => `node ${folder}/wraptool serve --session claude-app`),
    ...each.map((name) => `node /usr/local/bin/wraptool serve --session ${name}`),
    '/usr/bin/node /usr/local/bin/wraptool serve --session claude-app',
    'wraptool serve --session claude-app',
    'wraptool',
    'node /usr/local/bin/wraptool up claude',
    '/usr/bin/dockerd -H fd://',
  ];
}

/** What a pattern over process names, or with `full` over command lines, would hit. */
export function patternWidth(m: Machine, pattern: string, how: Match & { readonly full: boolean }): Width {
  const test = m.patterns.compile(pattern, how);
  if (!how.full) {
    if (test('node') || test('MainThread')) return 'fleet';
    return [...processNames, ...engineNames].some(test) ? 'gateway' : 'none';
  }
  const literal = pattern.replace(/^\^|\$$/g, '').replace(/\[(\w)\]/g, '$1');
  const all = proposed.test(literal) ? [...m.known.names, literal] : m.known.names;
  if (!lines(all).some(test)) return 'none';
  return otherLines.some(test) ? 'fleet' : 'gateway';
}

/** Whether a pattern that sorts lines out would leave no gateway among them. */
export function excludesGateway(m: Machine, pattern: string, how: Match): boolean {
  const test = m.patterns.compile(pattern, how);
  return folders.every((folder) => test(`dev 4242 1 node ${folder}/wraptool serve --session example`));
}

export function widthReason(width: Width, narrow: ReasonClass): ReasonClass | null {
  if (width === 'none') return null;
  return width === 'fleet' ? 'fleet_kill' : narrow;
}

/** A process by its exact name or by the path of its program. */
export function nameWidth(name: string, anyCase = false): Width {
  const base = fold(name.slice(name.lastIndexOf('/') + 1), anyCase);
  if (['node', 'nodejs', fold('MainThread', anyCase)].includes(base)) return 'fleet';
  return base === 'wraptool' || engineNames.includes(base) ? 'gateway' : 'none';
}

function fold(text: string, anyCase: boolean): string {
  return anyCase ? text.toLowerCase() : text;
}

/** Units that a gateway hangs on besides its own. */
const carrying = /^(?:docker|containerd|podman|user@\d+|user(?:-\d+)?)(?:\.(?:service|socket|slice))?$/;

/** What stopping a unit, a job or a program of a service manager hits; the name may be a glob. */
export function unitReason(m: Machine, name: string): ReasonClass | null {
  if (!isKnown(name)) {
    const seen = ofHoles(m, name, 'service_kill');
    if (seen === undefined && /wraptool/i.test(name)) return 'service_kill';
    return seen === undefined ? (mayBe(name) ? 'indirect' : null) : seen;
  }
  const base = name.slice(name.lastIndexOf('/') + 1);
  if (/^(?:all|\*)$/.test(base)) return 'service_kill';
  if (/wraptool/i.test(name) || carrying.test(base)) return 'service_kill';
  if (m.known.names.some((session) => base === session)) return 'service_kill';
  const globbed =
    /[*?[]/.test(base) &&
    ['wraptool@claude-app.service', 'wraptool@codex-web'].some((unit) => globMatches(base, unit));
  return globbed ? 'service_kill' : null;
}

/** What ending a container hits. Sessions' containers are called wraptool-NAME; an id says nothing. */
export function containerReason(m: Machine, name: string): ReasonClass | null {
  if (!isKnown(name)) {
    const seen = ofHoles(m, name, 'container_kill');
    if (seen === undefined && /wraptool/i.test(name)) return 'container_kill';
    return seen === undefined ? (mayBe(name) ? 'indirect' : null) : seen;
  }
  if (/wraptool/i.test(name)) return 'container_kill';
  return /^[0-9a-f]{4,64}$/.test(name) && /\d/.test(name) ? 'container_kill' : null;
}

/** The reason that the holes of a text bring with them; undefined where they are unknown. */
function ofHoles(m: Machine, text: string, one: ReasonClass): ReasonClass | null | undefined {
  const judge = one === 'service_kill' ? unitReason : containerReason;
  let seen: ReasonClass | null | undefined;
  for (const origin of m.holes.in(text)) {
    if (origin.of === 'targets') seen = seen ?? origin.reason;
    else if (origin.of === 'any') for (const other of origin.texts) seen = seen ?? judge(m, other);
    else if (origin.of === 'own') seen = seen ?? null;
  }
  return seen;
}

/** Whether what is known of a partly unknown name leaves room for a gateway's. */
function mayBe(name: string): boolean {
  const glob = fillHoles(name, '*');
  return ['wraptool@claude-app.service', 'wraptool-claude-app', 'wraptool@claude-app'].some((one) =>
    globMatches(glob, one),
  );
}

/** Programs whose pid files and sockets are their own and no gateway's. */
const daemons =
  /(?:^|[^a-z])(?:nginx|apache2?|httpd|caddy|haproxy|redis|postgres(?:ql)?|postmaster|mysqld?|mariadbd?|mongod|memcached|sshd|cron|crond|rsyslogd|systemd|dbus|gunicorn|uwsgi|celery|puma|unicorn|php-fpm\d*|elasticsearch|rabbitmq|varnish|squid|dnsmasq|named|bind|ntpd|chronyd|postfix|dovecot|exim|samba|smbd|cupsd?|avahi|grafana|prometheus|consul|vault|etcd|zookeeper|kafka|tomcat|jenkins|vite|webpack|rails|django|flask|sidekiq)(?:[^a-z]|$)/i;
/** Words of a file's name that say nothing about whose it is. */
const generic =
  /^(?:pid|pids|pidfile|app|server|daemon|gateway|mcp|node|main|service|run|proc|process|my|the|tmp|test|lock|session|\d+)$/;

/** Whose process a pid file, a socket or a file leads to. */
export function fileOwner(m: Machine, file: string): 'gateway' | 'other' | 'unknown' {
  if (!isKnown(file)) return /wraptool/i.test(file) ? 'gateway' : daemons.test(file) ? 'other' : 'unknown';
  if (/wraptool/i.test(file) || m.known.names.some((name) => file.includes(`${name}.`))) return 'gateway';
  if (daemons.test(file)) return 'other';
  const owner = /^(?:\/var)?\/run\/([a-z0-9._-]+?)(?:\.(?:pid|sock|lock))?(?:\/|$)/i.exec(file)?.[1];
  if (owner === undefined || proposed.test(owner)) return 'unknown';
  return owner.split(/[._-]/).every((word) => generic.test(word)) || /^(?:user|lock)$/.test(owner)
    ? 'unknown'
    : 'other';
}
