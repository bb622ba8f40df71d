/** Nothing of the operator's may be in here unless it was named. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Env, Expected, Finding } from './types.ts';

/** Variables by which a program acts in somebody's name. */
const variables = new Set(
  `SSH_AUTH_SOCK GPG_AGENT_INFO DBUS_SESSION_BUS_ADDRESS DOCKER_HOST KUBECONFIG GH_TOKEN GITHUB_TOKEN GH_ENTERPRISE_TOKEN
  GITHUB_ENTERPRISE_TOKEN GITLAB_TOKEN GITEA_TOKEN BITBUCKET_TOKEN NPM_TOKEN NODE_AUTH_TOKEN PYPI_TOKEN TWINE_PASSWORD CARGO_REGISTRY_TOKEN
  AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN GOOGLE_APPLICATION_CREDENTIALS AZURE_CLIENT_SECRET
  ARM_CLIENT_SECRET DIGITALOCEAN_TOKEN CLOUDFLARE_API_TOKEN HEROKU_API_KEY VAULT_TOKEN SLACK_TOKEN SENTRY_AUTH_TOKEN
  DATABASE_URL PGPASSWORD MYSQL_PWD ANTHROPIC_API_KEY OPENAI_API_KEY GEMINI_API_KEY`.split(/\s+/),
);
const secretName = /(^|_)(TOKEN|SECRET|PASSWORD|PASSWD|API_KEY|ACCESS_KEY|PRIVATE_KEY|CREDENTIALS?)$/;

const sockets = [
  '/var/run/docker.sock',
  '/run/docker.sock',
  '/run/podman/podman.sock',
  '/run/containerd/containerd.sock',
  '/run/user/*/docker.sock',
  '/run/user/*/podman/podman.sock',
  '/run/user/*/bus',
  '/run/user/*/keyring/*',
  '/run/user/*/gnupg/S.*',
  '/run/dbus/system_bus_socket',
  '/run/host-services/*.sock',
  '/tmp/ssh-*/agent.*',
  '/tmp/.X11-unix/*',
];

/** Below a HOME. */
const files = [
  '.ssh',
  '.aws',
  '.azure',
  '.config/gh',
  '.config/gcloud',
  '.config/hub',
  '.docker/config.json',
  '.git-credentials',
  '.config/git/credentials',
  '.gnupg',
  '.kube',
  '.netrc',
  '.npmrc',
  '.pypirc',
];

/** Those of the list that are secrets by themselves, with the keys' usual names. */
const secrets = [
  '.ssh/id_*',
  '.aws/credentials',
  '.config/gh/hosts.yml',
  '.config/gcloud/credentials.db',
  '.git-credentials',
  '.config/git/credentials',
  '.kube/config',
  '.netrc',
  '.pypirc',
];

export function checkCredentials(expected: Expected, env: Env): Finding[] {
  const home = env['HOME'] ?? '/home/agent';
  return [...inEnvironment(expected, env), ...asSocket(), ...mounted(expected, home), ...inHome(home)];
}

function inEnvironment({ named }: Expected, env: Env): Finding[] {
  const known = new Set(named);
  const mend = 'take it out of the image, or name it in up.harness_env if it is meant to be there';
  return Object.keys(env)
    .filter((name) => !known.has(name) && env[name] !== '' && (variables.has(name) || secretName.test(name)))
    .map((name) => ({
      check: 'credentials',
      level: variables.has(name) ? 'fault' : 'warning',
      detail: `the variable ${name} is set inside, and nobody named it`,
      mend,
    }));
}

function asSocket(): Finding[] {
  const there = new Set(sockets.flatMap((pattern) => matching('', pattern)));
  return [...there].filter(isSocket).map((path) => ({
    check: 'credentials',
    level: 'fault',
    detail: `the socket ${path} is inside: who speaks to it has rights of yours`,
    mend: 'take its mount out of the definition',
  }));
}

/** Paths by a pattern with `*` for a part of a name. Node's own glob takes longer to load than all else here. */
function matching(base: string, pattern: string): string[] {
  const at = pattern.indexOf('*');
  if (at < 0) return [base + pattern];
  const start = pattern.lastIndexOf('/', at) + 1;
  const end = pattern.indexOf('/', at);
  const folder = base + pattern.slice(0, start);
  const [before, after] = [pattern.slice(start, at), pattern.slice(at + 1, end < 0 ? undefined : end)];
  return names(folder)
    .filter(
      (name) =>
        name.length >= before.length + after.length && name.startsWith(before) && name.endsWith(after),
    )
    .flatMap((name) => (end < 0 ? [folder + name] : matching(`${folder}${name}/`, pattern.slice(end + 1))));
}

function names(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    // Absent, or out of this user's reach, and with it of the harness's.
    return [];
  }
}

function isSocket(path: string): boolean {
  try {
    return statSync(path).isSocket();
  } catch {
    // Absent, or out of this user's reach: then it is out of the harness's, too.
    return false;
  }
}

/** A mount at or above a credential's place that is not the whole HOME of the harness. */
function mounted({ hostHome }: Expected, home: string): Finding[] {
  const points = mountPoints();
  const places = [...new Set([hostHome, home])].flatMap((base) => files.map((file) => join(base, file)));
  const bases = [home, '/'];
  const bad = places.filter(
    (place) =>
      existsSync(place) &&
      points.some(
        (point) =>
          !bases.includes(point) &&
          (place === point || place.startsWith(`${point}/`) || point.startsWith(`${place}/`)),
      ),
  );
  return bad.map((place) => ({
    check: 'credentials',
    level: 'fault',
    detail: `${place} is mounted from the host`,
    mend: 'take its mount out of the definition',
  }));
}

/**
 * Of each line field 5, with its octal escapes; field 4 and the type behind the dash tell what was made for in here alone:
 * all of a file system in memory. A part of one is the host's.
 */
function mountPoints(): string[] {
  const lines = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .filter((line) => line !== '');
  return lines
    .filter((line) => !(/ - (tmpfs|devtmpfs|ramfs) /.test(line) && line.split(' ')[3] === '/'))
    .map((line) => line.split(' ')[4] ?? '/')
    .map((point) =>
      point.replace(/\\([0-7]{3})/g, (_all, digits: string) => String.fromCharCode(parseInt(digits, 8))),
    );
}

/** The harness's own logins are its business; a key of the operator's is not. */
function inHome(home: string): Finding[] {
  const found = secrets.flatMap((pattern) => matching(`${home}/`, pattern));
  const keys = found.filter((file) => !file.endsWith('.pub') && existsSync(file));
  return keys.map((file) => ({
    check: 'credentials',
    level: 'warning',
    detail: `the harness HOME holds ${file}`,
    mend: 'remove it there unless the agent is meant to use it',
  }));
}
