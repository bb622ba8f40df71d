/** The command table. Only the command that is asked for is loaded, so that start-up stays cheap. */
import type { Command } from 'commander';

export type Entry = {
  readonly summary: string;
  readonly load: () => Promise<{ register(program: Command): void }>;
};

export const commandTable: Readonly<Record<string, Entry>> = {
  up: {
    summary: 'run a harness in a container, wired to its gateway',
    load: () => import('./commands/up.ts'),
  },
  ps: { summary: 'list sessions, and reclaim what dead ones left', load: () => import('./commands/ps.ts') },
  exec: { summary: 'run a command in a session', load: () => import('./commands/exec.ts') },
  inspect: { summary: 'tell what is known of a session', load: () => import('./commands/inspect.ts') },
  logs: { summary: 'show what happened in a session', load: () => import('./commands/logs.ts') },
  down: { summary: 'end a session', load: () => import('./commands/down.ts') },
  restart: {
    summary: 'restart a gateway through its supervisor; judge a command that would kill one',
    load: () => import('./commands/restart.ts'),
  },
  prune: { summary: 'remove what is left over', load: () => import('./commands/prune.ts') },
  doctor: {
    summary: 'check what wraptool needs, and say how to mend it',
    load: () => import('./commands/doctor.ts'),
  },
  init: { summary: 'write a commented starter config', load: () => import('./commands/init.ts') },
  policy: { summary: 'test calls against the policy', load: () => import('./commands/policy.ts') },
  config: { summary: 'check and explain the config', load: () => import('./commands/config.ts') },
  requests: {
    summary: 'review what agents ask for: approve or deny it',
    load: () => import('./commands/requests.ts'),
  },
  grants: {
    summary: 'list and revoke what was granted for a while',
    load: () => import('./commands/grants.ts'),
  },
  admin: { summary: "a link to the operator's web page", load: () => import('./commands/admin.ts') },
  serve: { summary: 'run a gateway alone', load: () => import('./commands/serve.ts') },
  mcp: { summary: 'pins of upstream MCP servers', load: () => import('./commands/mcp.ts') },
  log: { summary: 'read and verify the log', load: () => import('./commands/log.ts') },
  harness: {
    summary: 'list, install, add and check harnesses, write their config',
    load: () => import('./commands/harness.ts'),
  },
  devcontainer: {
    summary: "inspect and approve the workspace's own dev container definition",
    load: () => import('./commands/devcontainer.ts'),
  },
  introspect: {
    summary: 'show the subcommands and flags of a tool’s help',
    load: () => import('./commands/introspect.ts'),
  },
  completion: {
    summary: 'completion by Tab for bash, zsh and fish',
    load: () => import('./commands/completion.ts'),
  },
  scrub: { summary: 'redact secrets in what is read from stdin', load: () => import('./commands/scrub.ts') },
};

/** The command's entry, or null where the table has no such name. */
export function entryOf(name: string | undefined): Entry | null {
  return name !== undefined && Object.hasOwn(commandTable, name) ? (commandTable[name] ?? null) : null;
}
