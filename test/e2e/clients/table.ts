/** The clients that the tests drive, and how each is led to the scripted model with a key that opens nothing. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { modelUrl } from '../model-inside.ts';
import type { Place } from '../place.ts';

export type Client = {
  readonly name: string;
  /** Variables of the host that the operator passes. */
  readonly env: Readonly<Record<string, string>>;
  /** Whatever the operator has in the workspace or in the harness HOME before. */
  readonly prepare?: (where: Place, home: string) => Promise<void>;
  /** Arguments that lead it to the model; before everything else. */
  readonly args: readonly string[];
  /** Arguments for one prompt. */
  readonly prompt: (text: string) => readonly string[];
  /** What its screen shows when it waits for the first prompt. */
  readonly screen: RegExp;
  /** The gateway's tool as this client names it to its model. */
  readonly tool: (name: string) => string;
  /** Whether it takes up a changed list while it runs one prompt. */
  readonly listChanged: boolean;
};

const key = 'a-key-that-opens-nothing-at-all';
const underscores = (name: string): string => `mcp__wraptool__${name}`;

/** A provider as opencode and what was made from it take it. */
const openCodeProvider = {
  model: 'mock/mock',
  small_model: 'mock/mock',
  provider: {
    mock: {
      npm: '@ai-sdk/openai-compatible',
      name: 'Mock',
      options: { baseURL: `${modelUrl}/v1`, apiKey: key },
      models: { mock: { name: 'Mock', tool_call: true, limit: { context: 200_000, output: 8_000 } } },
    },
  },
};

async function writeJson(file: string, value: unknown): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, JSON.stringify(value));
}

export const clients: readonly Client[] = [
  {
    name: 'claude',
    env: { ANTHROPIC_API_KEY: key, ANTHROPIC_BASE_URL: modelUrl, ENABLE_TOOL_SEARCH: 'false' },
    args: [],
    prompt: (text) => ['-p', text],
    screen: /^─+\n❯/m,
    tool: underscores,
    listChanged: true,
  },
  {
    name: 'codex',
    env: { OPENAI_API_KEY: key },
    args: ['-c', `model_providers.openai-env.base_url="${modelUrl}/v1"`, '-c', 'model="gpt-5"'],
    prompt: (text) => ['exec', '--skip-git-repo-check', text],
    screen: /Ask Codex to do anything/,
    tool: (name) => `mcp__wraptool.${name}`,
    listChanged: false,
  },
  {
    name: 'gemini',
    env: { GEMINI_API_KEY: key, GOOGLE_GEMINI_BASE_URL: modelUrl },
    args: [],
    prompt: (text) => ['-p', text],
    screen: /Type your message/,
    tool: (name) => `mcp_wraptool_${name}`,
    listChanged: true,
  },
  {
    name: 'opencode',
    env: { OPENCODE_DISABLE_MODELS_FETCH: '1' },
    prepare: (where) => writeJson(path.join(where.workspace, 'opencode.json'), openCodeProvider),
    args: [],
    prompt: (text) => ['run', text],
    screen: /Ask anything/,
    tool: (name) => `wraptool_${name}`,
    listChanged: true,
  },
  {
    name: 'kilo',
    env: { KILO_DISABLE_MODELS_FETCH: '1' },
    prepare: (where) => writeJson(path.join(where.workspace, 'kilo.json'), openCodeProvider),
    args: [],
    prompt: (text) => ['run', text],
    screen: /Ask anything/,
    tool: (name) => `wraptool_${name}`,
    listChanged: true,
  },
  {
    name: 'copilot',
    env: {
      COPILOT_PROVIDER_BASE_URL: `${modelUrl}/v1`,
      COPILOT_PROVIDER_TYPE: 'openai',
      COPILOT_PROVIDER_API_KEY: key,
      COPILOT_MODEL: 'mock',
      COPILOT_OFFLINE: 'true',
    },
    args: [],
    prompt: (text) => ['-p', text],
    screen: /^❯/m,
    tool: (name) => `wraptool-${name}`,
    listChanged: true,
  },
  {
    name: 'qwen',
    env: { OPENAI_API_KEY: key, OPENAI_BASE_URL: `${modelUrl}/v1`, OPENAI_MODEL: 'mock' },
    // Its tools are offered at once, and not found by a search.
    prepare: (_, home) =>
      writeJson(path.join(home, '.qwen/settings.json'), { tools: { toolSearch: { enabled: false } } }),
    args: [],
    prompt: (text) => ['-p', text],
    screen: /Type your message/,
    tool: underscores,
    listChanged: false,
  },
  {
    name: 'cline',
    env: {},
    prepare: (_, home) =>
      writeJson(path.join(home, '.cline/data/settings/providers.json'), {
        version: 1,
        lastUsedProvider: 'openai-compatible',
        modes: {},
        providers: {
          'openai-compatible': {
            settings: {
              provider: 'openai-compatible',
              apiKey: key,
              model: 'mock',
              baseUrl: `${modelUrl}/v1`,
            },
            updatedAt: '2026-11-30T00:00:00.000Z',
            tokenSource: 'manual',
          },
        },
      }),
    args: [],
    prompt: (text) => [text],
    screen: /^\s*❯ What can I do for you\?/m,
    tool: (name) => `wraptool__${name}`,
    listChanged: false,
  },
  {
    name: 'pi',
    env: {},
    prepare: (_, home) =>
      writeJson(path.join(home, '.pi/agent/models.json'), {
        providers: {
          mock: {
            baseUrl: `${modelUrl}/v1`,
            api: 'openai-completions',
            apiKey: key,
            models: [{ id: 'mock', name: 'Mock', contextWindow: 200_000, maxTokens: 8_000 }],
          },
        },
      }),
    args: ['--model', 'mock/mock'],
    prompt: (text) => ['-p', text],
    screen: /\(auto\)/,
    tool: underscores,
    listChanged: true,
  },
];

const inCi: readonly string[] = ['claude', 'codex', 'gemini', 'opencode'];

/** Those that talk to their maker's service alone. */
const needAccount: readonly string[] = ['amp', 'auggie'];

export function reachable(): readonly string[] {
  const asked = process.env['WRAPTOOL_CLIENTS'] ?? '';
  return asked === 'all' ? needAccount : needAccount.filter((name) => asked.split(',').includes(name));
}

/** The clients that WRAPTOOL_CLIENTS names, `all` of them, or those that CI installs. */
export function chosen(): readonly Client[] {
  const asked = process.env['WRAPTOOL_CLIENTS'] ?? inCi.join(',');
  if (asked === 'all') return clients;
  const names = asked.split(',');
  const known = [...clients.map(({ name }) => name), ...needAccount];
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Error(`WRAPTOOL_CLIENTS: there is no client "${unknown}"`);
  return clients.filter(({ name }) => names.includes(name));
}
