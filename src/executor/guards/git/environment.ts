/** What git is told on each side: on the host as little as the operator's own repository needs, in the box nothing of his. */

/** Beats every config file, the operator's too: what a run for an agent must not do in his name. */
const hostPins: readonly (readonly [key: string, value: string])[] = [
  ['core.hooksPath', '/dev/null'],
  ['core.fsmonitor', 'false'],
  ['core.alternateRefsCommand', 'true'],
  ['core.attributesFile', '/dev/null'],
  ['core.protectNTFS', 'true'],
  ['core.protectHFS', 'true'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['submodule.recurse', 'false'],
  ['fetch.recurseSubmodules', 'false'],
  ['fetch.prune', 'false'],
  ['fetch.pruneTags', 'false'],
  ['fetch.writeCommitGraph', 'false'],
  ['fetch.uriProtocols', ''],
  ['transfer.bundleURI', 'false'],
  ['promisor.acceptFromServer', 'none'],
  ['push.recurseSubmodules', 'no'],
  ['push.followTags', 'false'],
  ['push.gpgSign', 'false'],
  ['push.useBitmaps', 'true'],
  ['http.followRedirects', 'false'],
  ['credential.interactive', 'false'],
  ['safe.bareRepository', 'all'],
  ['safe.directory', '*'],
];

/** Environment of a git that runs with the operator's rights, only ever in the private repository. */
export function hostEnvironment(
  operator: Readonly<Record<string, string>>,
  options: { readonly protocols: string; readonly pins?: readonly (readonly [string, string])[] },
): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(operator)) if (!isGitSwitch(name)) env[name] = value;
  const ssh = operator['GIT_SSH'] === undefined ? { GIT_SSH_COMMAND: 'ssh -oBatchMode=yes' } : {};
  return {
    ...ssh,
    ...env,
    GIT_ASKPASS: operator['GIT_ASKPASS'] ?? '/bin/false',
    SSH_ASKPASS: operator['SSH_ASKPASS'] ?? '/bin/false',
    SSH_ASKPASS_REQUIRE: 'never',
    GIT_TERMINAL_PROMPT: '0',
    GIT_EDITOR: '/bin/false',
    GIT_SEQUENCE_EDITOR: '/bin/false',
    GIT_PAGER: 'cat',
    PAGER: 'cat',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_GRAFT_FILE: '/dev/null/none',
    GIT_NO_LAZY_FETCH: '1',
    GIT_ALLOW_PROTOCOL: options.protocols,
    GIT_PROTOCOL_FROM_USER: '0',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_ADVICE: '0',
    ...pinned([...configured(operator), ...hostPins, ...(options.pins ?? [])]),
  };
}

/** Settings that the operator gave the tool by GIT_CONFIG_COUNT. */
function configured(operator: Readonly<Record<string, string>>): (readonly [string, string])[] {
  const count = Number(operator['GIT_CONFIG_COUNT'] ?? 0);
  return Array.from({ length: Number.isInteger(count) ? Math.min(count, 1000) : 0 }, (_, at) => [
    operator[`GIT_CONFIG_KEY_${at}`] ?? '',
    operator[`GIT_CONFIG_VALUE_${at}`] ?? '',
  ]).filter((pair): pair is [string, string] => pair[0] !== '');
}

/** Variables of the operator's that change what git does beyond how it authenticates, traces and speaks. */
function isGitSwitch(name: string): boolean {
  return (
    /^GIT_(?:DIR|WORK_TREE|INDEX_FILE|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|COMMON_DIR|NAMESPACE|EXEC_PATH|TEMPLATE_DIR|EXTERNAL_DIFF|PROXY_COMMAND|REDIRECT_.*|TRACE.*|CEILING_DIRECTORIES|ATTR_SOURCE)$/.test(
      name,
    ) || /^GIT_CONFIG_(?:COUNT|PARAMETERS|KEY_\d+|VALUE_\d+)$/.test(name)
  );
}

const boxPins: readonly (readonly [key: string, value: string])[] = [
  ['commit.gpgSign', 'false'],
  ['tag.gpgSign', 'false'],
  ['tag.forceSignAnnotated', 'false'],
  ['push.gpgSign', 'false'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['safe.directory', '*'],
];

/** What the operator may hand into the box: who commits, and how things are written. */
const handedIn = /^(?:GIT_(?:AUTHOR|COMMITTER)_(?:NAME|EMAIL|DATE)|LANG|LANGUAGE|LC_[A-Z]+|TZ|NO_COLOR)$/;

/** Environment of everything that runs on the workspace. `identity` is the only config file but the repository's. */
export function boxEnvironment(
  operator: Readonly<Record<string, string>>,
  identity: string,
  pins: readonly (readonly [string, string])[] = [],
): Record<string, string> {
  const handed = Object.fromEntries(Object.entries(operator).filter(([name]) => handedIn.test(name)));
  return {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    LANG: 'C.UTF-8',
    ...handed,
    HOME: '/tmp',
    TERM: 'dumb',
    GIT_CONFIG_GLOBAL: identity,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_EDITOR: ':',
    GIT_SEQUENCE_EDITOR: ':',
    GIT_PAGER: 'cat',
    PAGER: 'cat',
    // Large files that are not there stay pointers: there is no network to ask.
    GIT_LFS_SKIP_DOWNLOAD_ERRORS: '1',
    ...pinned([...boxPins, ...pins]),
  };
}

function pinned(pins: readonly (readonly [string, string])[]): Record<string, string> {
  const env: Record<string, string> = { GIT_CONFIG_COUNT: String(pins.length) };
  for (const [at, [key, value]] of pins.entries()) {
    env[`GIT_CONFIG_KEY_${at}`] = key;
    env[`GIT_CONFIG_VALUE_${at}`] = value;
  }
  return env;
}
