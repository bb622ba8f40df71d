/** Which answer is due, read from the conversation itself, so that a repeated request gets the same one. */
import type { Conversation, Reply, Step } from './types.ts';

/** The tools by which clients load tools that they do not offer at once. */
const loaders: ReadonlySet<string> = new Set(['ToolSearch', 'tool_search']);

export function loadsTools(name: string): boolean {
  return loaders.has(name);
}

/** What the script says is due. A client that defers its tools is first made to load the one that is wanted. */
export function decide(steps: readonly Step[], conversation: Conversation): Reply {
  if (conversation.tools.length === 0) return { aside: 'a request without tools is none of the script’s' };
  const step = steps[conversation.turn];
  if (step === undefined) return { aside: 'the script is at its end' };
  if (!('tool' in step)) return step;
  const wanted = new RegExp(step.tool);
  const name = conversation.tools.find((tool) => wanted.test(tool));
  if (name !== undefined) return { ...step, tool: name };
  const loader = conversation.tools.find(loadsTools);
  if (loader !== undefined && !loadsTools(conversation.results.at(-1)?.tool ?? ''))
    return {
      tool: loader,
      input: { query: step.tool.replaceAll(/[^A-Za-z0-9_]+/g, ' ').trim(), max_results: 10 },
    };
  return { aside: `no tool matches /${step.tool}/` };
}
