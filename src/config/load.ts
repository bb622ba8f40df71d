/** Config file -> frozen snapshot. */
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import path from 'node:path';
import { WraptoolError } from '../errors.ts';
import { configDir, homeDir, stateDir } from '../paths.ts';
import { compile, type Policy } from '../policy/compile.ts';
import type { ConfigPath, Problem } from '../policy/spec.ts';
import { toolNames } from '../policy/structured.ts';
import { assertOperatorsOwn, assertOutside } from './location.ts';
import { locateIssues, type Located } from './problems.ts';
import { policyTools, resolveConfig, showPath } from './resolve.ts';
import { configSchema, type ConfigInput } from './schema.ts';
import type { Config, Snapshot } from './types.ts';
import { readYaml, type YamlFile } from './yaml.ts';

/** MCP's rule for the names of tools. */
const longestName = 128;

type Env = Readonly<Record<string, string | undefined>>;

export type LoadOptions = {
  /** `--config`. */
  readonly path?: string | undefined;
  readonly env: Env;
  /** false: what only looks (`policy test`) does not mind who else could write the file. Default true. */
  readonly locations?: boolean;
};

/** The path of the config: `--config`, $WRAPTOOL_CONFIG, $XDG_CONFIG_HOME/wraptool/config.yaml. */
export function configPath(options: { path?: string | undefined; env: Env }): string {
  const named = options.path ?? options.env['WRAPTOOL_CONFIG'];
  return named === undefined || named === ''
    ? path.join(configDir(options.env), 'config.yaml')
    : path.resolve(named);
}

/**
 * @throws WraptoolError config_missing, config_invalid (all problems at once), unsafe_location
 */
export async function loadConfig(options: LoadOptions): Promise<Snapshot> {
  const named = configPath(options);
  const bytes = await readBytes(named);
  if (options.locations !== false) await assertOperatorsOwn(named, 'config');
  const snapshot = parseConfig(bytes, { file: named, real: await realpath(named), env: options.env });
  if (options.locations !== false)
    await assertOutside(named, snapshot.config.mcp.allowed_cwd_roots, 'config');
  return snapshot;
}

/** More than any config has: what is larger is another file. */
const mostBytes = 4 * 1024 * 1024;

/** Only a plain file: a pipe would be waited for, a device read without end. */
async function readBytes(file: string): Promise<Buffer> {
  try {
    await using handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
    const stats = await handle.stat();
    if (!stats.isFile()) throw notReadable(file, 'it is not a plain file');
    if (stats.size > mostBytes) throw notReadable(file, `it has ${stats.size} bytes, more than ${mostBytes}`);
    return await handle.readFile();
  } catch (error) {
    if (error instanceof WraptoolError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT')
      throw new WraptoolError('config_missing', `there is no config at "${file}"`, {
        hint: 'write a starter config with wraptool init, or name one with --config',
        cause: error,
      });
    throw notReadable(file, code ?? String(error), error);
  }
}

function notReadable(file: string, why: string, cause?: unknown): WraptoolError {
  return new WraptoolError('config_invalid', `the config "${file}" cannot be read: ${why}`, {
    hint: 'make it a file that you can read',
    cause,
  });
}

/**
 * Pure but for hashing: bytes -> snapshot.
 * @throws WraptoolError config_invalid
 */
export function parseConfig(bytes: Uint8Array, from: { file: string; real: string; env: Env }): Snapshot {
  const yaml = readText(bytes, from.file);
  const home = homeDir(from.env);
  const parsed = configSchema.safeParse(yaml.value);
  if (!parsed.success) throw invalid(from.file, locateIssues(parsed.error.issues, yaml, configSchema));
  const compiled = compile(policyTools(parsed.data.tools, home), (at) => ({
    file: from.file,
    line: yaml.placeOf(at).line,
  }));
  const crossed = [
    ...compiled.problems,
    ...crossChecks(yaml.value),
    ...upstreamNames(parsed.data.mcp_servers, compiled.policy),
  ];
  if (crossed.length > 0)
    throw invalid(
      from.file,
      crossed.map((problem) => located(problem, yaml)),
    );
  const config = resolveConfig(parsed.data, { home, log: path.join(stateDir(from.env), 'log') });
  return freeze({
    file: from.real,
    hash: createHash('sha256').update(bytes).digest('hex'),
    text: Buffer.from(bytes).toString('utf8'),
    config,
    policy: compiled.policy,
    warnings: compiled.warnings.map((problem) => ({ ...problem, line: yaml.placeOf(problem.path).line })),
  });
}

function readText(bytes: Uint8Array, file: string): YamlFile {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw new WraptoolError('config_invalid', `the config "${file}" is not UTF-8`, {
      hint: 'save it as UTF-8',
      cause: error,
    });
  }
  if (text.replace(/^\ufeff/, '').trim() === '')
    throw new WraptoolError('config_invalid', `the config "${file}" is empty`, {
      hint: 'wraptool init writes a starter config',
    });
  const yaml = readYaml(text);
  if (yaml.problems.length > 0) throw invalid(file, yaml.problems);
  return yaml;
}

/** What no single key can say. */
function crossChecks(value: unknown): Problem[] {
  const mcp = (value as { mcp?: Record<string, unknown> | null }).mcp;
  const both = mcp?.['token_env'] !== undefined && typeof mcp['token_file'] === 'string';
  return both
    ? [{ path: ['mcp', 'token_file'], message: 'expected either token_env or token_file, found both' }]
    : [];
}

/** Under one name a client can call one tool only. */
function upstreamNames(servers: ConfigInput['mcp_servers'], policy: Policy): Problem[] {
  const taken = toolNames(policy);
  return Object.entries(servers).flatMap(([server, { allow = [] }]) =>
    allow
      .map((tool, index) => ({ path: ['mcp_servers', server, 'allow', index], name: `${server}__${tool}` }))
      .filter(({ name }) => taken.has(name) || name.length > longestName)
      .map(({ path: at, name }) => ({
        path: at,
        message: taken.has(name)
          ? `"${name}" is the name of a command in "tools" too`
          : `"${name}" has over ${longestName} characters: clients would refuse it`,
      })),
  );
}

function located(problem: Problem, yaml: YamlFile): Located {
  return { place: yaml.placeOf(problem.path), path: problem.path, message: problem.message };
}

function invalid(file: string, problems: readonly Located[]): WraptoolError {
  const sorted = problems.toSorted((a, b) => a.place.line - b.place.line || a.place.column - b.place.column);
  const lines = sorted.map(
    ({ place, path: keys, message }) => `${file}:${place.line}:${place.column} ${at(keys)}${message}`,
  );
  const count = `${lines.length} problem${lines.length === 1 ? '' : 's'}`;
  return new WraptoolError('config_invalid', `the config "${file}" has ${count}`, {
    hint: 'wraptool config explain KEY says what a key takes',
    problems: lines,
  });
}

function at(keys: ConfigPath): string {
  return keys.length === 0 ? '' : `${showPath(keys)}: `;
}

/** Deep, but for maps and sets: those are only ever read through read-only types. */
function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const inner of value instanceof Map || value instanceof Set ? value.values() : Object.values(value))
    freeze(inner);
  return Object.freeze(value);
}

/**
 * Refuses what an agent could reach: config, log, token (and `files`, such as session state) inside one of `zones`
 * or an allowed cwd root, or writable by others.
 * @throws WraptoolError unsafe_location
 */
export async function checkLocations(
  snapshot: Snapshot,
  zones: readonly string[],
  files: readonly string[] = [],
): Promise<void> {
  const { mcp, requests }: Config = snapshot.config;
  const closed = [...zones, ...mcp.allowed_cwd_roots];
  await assertOutside(snapshot.file, closed, 'config');
  const kept = [['log', requests.log], ...files.map((file) => ['state', file] as const)] as [
    string,
    string,
  ][];
  if (mcp.token_file !== null) kept.push(['token', mcp.token_file]);
  for (const [what, file] of kept) {
    await assertOutside(file, closed, what);
    await assertOperatorsOwn(file, what);
  }
}
