/** The last known list of a server, so that a lazy one has tools to show before its first start. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { judgeTools } from './catalog.ts';
import { writeJson } from './store.ts';
import type { ToolDefinition } from './types.ts';

/** Empty when there is none, or none that can be read as one. */
export function readKnown(stateDir: string, server: string): readonly ToolDefinition[] {
  let text: string;
  try {
    text = readFileSync(fileOf(stateDir, server), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  const declared = parse(text);
  const allow = declared.map((tool) => tool.name);
  return judgeTools(server, declared, { allow, deny: [] }).tools;
}

export async function writeKnown(
  stateDir: string,
  server: string,
  tools: readonly ToolDefinition[],
): Promise<void> {
  await writeJson(fileOf(stateDir, server), tools);
}

/** It is a cache: what is torn is as good as absent. */
function parse(text: string): readonly ToolDefinition[] {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? (value as ToolDefinition[]) : [];
  } catch (error) {
    if (error instanceof SyntaxError) return [];
    throw error;
  }
}

function fileOf(stateDir: string, server: string): string {
  return path.join(stateDir, server, 'known.json');
}
