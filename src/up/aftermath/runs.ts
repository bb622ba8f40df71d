/** Which files of a workspace run by themselves on the operator's own next command there, and on which. */

export type Runs = {
  /** Path relative to the workspace, or to its `.git`. */
  readonly path: RegExp;
  readonly by: string;
};

/** Below the workspace. A folder's name alone does not end a search: monorepos have them at any depth. */
export const workspaceRuns: readonly Runs[] = [
  { path: /(^|\/)\.envrc$/, by: 'direnv' },
  { path: /(^|\/)(\.?mise\.(local\.)?toml|\.mise\/config\.toml|\.tool-versions)$/, by: 'mise or asdf' },
  { path: /(^|\/)\.vscode\/(tasks|launch|settings|extensions|mcp)\.json$|\.code-workspace$/, by: 'VS Code' },
  { path: /(^|\/)\.devcontainer\/|(^|\/)\.devcontainer\.json$/, by: 'your editor, or "devcontainer up"' },
  { path: /(^|\/)\.idea\/.*\.xml$|(^|\/)\.run\/.*\.xml$/, by: 'a JetBrains IDE' },
  { path: /(^|\/)\.zed\/(tasks|settings|debug)\.json$/, by: 'Zed' },
  { path: /(^|\/)(\.exrc|\.nvimrc|\.nvim\.lua|\.vimrc|\.dir-locals\.el)$/, by: 'Vim or Emacs' },
  { path: /(^|\/)package\.json$/, by: 'npm and its like' },
  {
    path: /(^|\/)(\.npmrc|\.yarnrc(\.yml)?|\.pnpmfile\.c?js|\.pnp\.c?js|bunfig\.toml)$|(^|\/)\.yarn\/(releases|plugins)\//,
    by: 'npm and its like',
  },
  {
    path: /(^|\/)\.husky\/|(^|\/)\.githooks\/|(^|\/)\.?lefthook(-local)?\.(ya?ml|toml|json)$/,
    by: 'hooks of git',
  },
  { path: /(^|\/)\.pre-commit-config\.yaml$|(^|\/)\.gitmodules$/, by: 'git' },
  {
    path: /(^|\/)([Mm]akefile|GNUmakefile|[Jj]ustfile|\.justfile|Taskfile\.ya?ml|Rakefile)$/,
    by: 'make and its like',
  },
  { path: /(^|\/)(\.cargo\/config(\.toml)?|rust-toolchain(\.toml)?|build\.rs)$/, by: 'cargo' },
  {
    path: /(^|\/)(gradlew|mvnw|gradle\/wrapper\/[^/]*|settings\.gradle(\.kts)?|build\.gradle(\.kts)?|\.mvn\/[^/]*)$/,
    by: 'Gradle or Maven',
  },
  { path: /(^|\/)(setup\.py|conftest\.py|noxfile\.py|sitecustomize\.py)$/, by: 'Python' },
  {
    path: /(^|\/)\.claude\/(settings(\.local)?\.json|hooks\/)|(^|\/)\.mcp\.json$/,
    by: 'Claude Code on your host',
  },
  {
    path: /(^|\/)(\.cursor|\.gemini|\.codex|\.qwen|\.opencode|\.kilocode)\/|(^|\/)opencode\.jsonc?$/,
    by: 'an agent on your host',
  },
  { path: /(^|\/)\.github\/(workflows|actions)\/|(^|\/)\.gitlab-ci\.yml$/, by: 'CI, once it is pushed' },
];

/** Below `.git`, and below each `modules/NAME` and `worktrees/NAME` of it. */
export const gitRuns: readonly Runs[] = [
  { path: /^((modules|worktrees)\/.+\/)?(config|config\.worktree|commondir|gitdir)$/, by: 'git' },
  { path: /^((modules|worktrees)\/.+\/)?hooks\/[^/]+$/, by: 'git' },
  {
    path: /^((modules|worktrees)\/.+\/)?(info\/(attributes|grafts|sparse-checkout)|objects\/info\/alternates)$/,
    by: 'git',
  },
];

/** Folders that are large, made by tools, and run only what is found elsewhere. */
export const notSearched: ReadonlySet<string> = new Set([
  '.git',
  'node_modules',
  'target',
  'vendor',
  '.venv',
  'venv',
  '__pycache__',
  'dist',
  'build',
  'out',
  '.next',
  '.cache',
]);

/** Below `.git`, where nothing of gitRuns lies. */
export const notSearchedInGit: ReadonlySet<string> = new Set(['refs', 'logs', 'lfs']);
