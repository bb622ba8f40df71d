/** What is allowed but doubtful. Nothing here refuses a config. */
import { builtInName } from '../policy/grammars/built-in.ts';
import type { AllowRule, ToolPolicy, Word } from '../policy/rule.ts';
import { showPath } from './resolve.ts';
import type { Snapshot } from './types.ts';

export type Lint = {
  readonly code:
    | 'command_group'
    | 'any_flags'
    | 'no_cwd_roots'
    | 'runs_workspace_code'
    | 'runs_plugins'
    | 'unguarded'
    | 'unconfined'
    | 'public_listener'
    | 'slow_pattern'
    | 'wrapper'
    | 'no_argument_constraints'
    | 'unpinned';
  /** 1-based, or null where the whole file is meant. */
  readonly line: number | null;
  readonly message: string;
};

/** Programs that build, test or script: what they run is what the agent wrote. */
const workspaceCode: ReadonlySet<string> = new Set([
  ...[
    'npm',
    'npx',
    'pnpm',
    'yarn',
    'bun',
    'deno',
    'node',
    'cargo',
    'go',
    'make',
    'cmake',
    'ninja',
    'gradle',
    'mvn',
  ],
  ...['pytest', 'python', 'python3', 'pip', 'uv', 'poetry', 'tox', 'rake', 'bundle', 'ruby', 'perl', 'php'],
  ...[
    'composer',
    'dotnet',
    'msbuild',
    'sbt',
    'bazel',
    'just',
    'task',
    'terraform',
    'docker',
    'podman',
    'gcc',
    'rustc',
  ],
]);
/** Programs that also run what a file of HOME, or a name on PATH, tells them to. */
const plugins: ReadonlyMap<string, string> = new Map([
  ['aws', 'the aliases and credential_process entries of ~/.aws'],
  ['docker', 'every cli-plugins/docker-* of ~/.docker, also for its help'],
  ['gh', 'the extensions and shell aliases of its config folder'],
  ['helm', 'its plugins, and what the kubeconfig names'],
  ['kubectl', "kubectl-* on PATH and the kubeconfig's exec entries"],
  ['terraform', 'the providers that ~/.terraformrc names'],
]);
/** Programs whose arguments are another command. */
const wrappers: ReadonlySet<string> = new Set([
  ...[
    'sh',
    'bash',
    'dash',
    'zsh',
    'fish',
    'env',
    'xargs',
    'sudo',
    'doas',
    'timeout',
    'nice',
    'nohup',
    'setsid',
  ],
  ...[
    'stdbuf',
    'watch',
    'parallel',
    'busybox',
    'chroot',
    'unshare',
    'nsenter',
    'strace',
    'awk',
    'tmux',
    'screen',
  ],
]);

export function lint(snapshot: Snapshot): readonly Lint[] {
  const { config, policy, warnings } = snapshot;
  const found: Lint[] = warnings.map(({ line, path, message }) => ({
    code: 'slow_pattern',
    line,
    message: `${showPath(path)}: ${message}`,
  }));
  if (config.mcp.allowed_cwd_roots.length === 0)
    found.push({
      code: 'no_cwd_roots',
      line: null,
      message:
        'mcp.allowed_cwd_roots is empty: under a bare serve the working directory that a client names is not checked',
    });
  const { host } = config.mcp.listen;
  if (!/^(?:127\.|localhost$|::1$)/.test(host))
    found.push({
      code: 'public_listener',
      line: null,
      message: `mcp.listen is "${host}": other machines or containers may reach it`,
    });
  for (const tool of policy.tools.values()) found.push(...lintTool(tool, snapshot));
  for (const [name, { allow, pin }] of Object.entries(config.mcp_servers)) {
    if (allow.length === 0) continue;
    found.push({
      code: 'no_argument_constraints',
      line: null,
      message: `mcp_servers.${name}: its tools (${allow.join(', ')}) take any arguments: the server runs with your rights and judges them alone`,
    });
    if (!pin)
      found.push({
        code: 'unpinned',
        line: null,
        message: `mcp_servers.${name}.pin is false: a tool that comes to do something else under its name stays allowed`,
      });
  }
  return found.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0));
}

function lintTool(tool: ToolPolicy, snapshot: Snapshot): Lint[] {
  const settings = snapshot.config.tools[tool.name];
  const rules = rulesOf(tool.root);
  const line = rules[0]?.rule.ref.line ?? null;
  const base = settings?.binary.slice(settings.binary.lastIndexOf('/') + 1) ?? tool.name;
  const known = builtInName(tool.name, settings?.binary ?? '') ?? tool.name;
  const found: Lint[] = [];
  const say = (code: Lint['code'], at: number | null, message: string): void =>
    void found.push({ code, line: at, message });
  if (rules.length > 0 && [base, known].some((name) => wrappers.has(name)))
    say(
      'wrapper',
      line,
      `tools.${tool.name}: "${base}" runs other commands: an allowed argument may be any of them`,
    );
  if (rules.length > 0 && [base, known].some((name) => workspaceCode.has(name)))
    say(
      'runs_workspace_code',
      line,
      `tools.${tool.name}: "${base}" runs code of the workspace, which the agent can write`,
    );
  const named = plugins.get(base) ?? plugins.get(known);
  if (rules.length > 0 && named !== undefined)
    say(
      'runs_plugins',
      line,
      `tools.${tool.name}: "${known}" runs ${named}: give it a HOME that the agent cannot write`,
    );
  if (rules.length > 0 && settings?.guard === 'none')
    say(
      'unguarded',
      line,
      `tools.${tool.name} has no guard: it runs with your rights, on what the agent wrote`,
    );
  if (settings?.guard !== 'none' && settings?.confine === 'none')
    say(
      'unconfined',
      line,
      `tools.${tool.name}.confine is none: where confinement is not available it runs with your rights`,
    );
  for (const { rule, group } of rules) {
    const command = [tool.name, ...rule.path].join(' ');
    if (group)
      say(
        'command_group',
        rule.ref.line,
        `"${command}" is a group of commands: the rule covers only the group itself`,
      );
    if (rule.terms.anyFlags)
      say(
        'any_flags',
        rule.ref.line,
        `"${command}" allows any flag: what is not denied runs, also what a later version adds`,
      );
  }
  return found;
}

/** Rules in file order; `group`: there are deeper subcommands below. */
function rulesOf(root: Word): { rule: AllowRule; group: boolean }[] {
  const found: { rule: AllowRule; group: boolean }[] = [];
  const visit = (word: Word): void => {
    for (const rule of word.allow) found.push({ rule, group: rule.path.length > 0 && word.next.size > 0 });
    for (const next of word.next.values()) visit(next);
  };
  visit(root);
  return found.toSorted((a, b) => a.rule.ref.line - b.rule.ref.line);
}
