/** `wraptool_request_capability`: asks the operator for what policy denies. It grants nothing. */
import { setTimeout as pause } from 'node:timers/promises';
import { isStringList, onlyKeys } from './arguments.ts';
import type { ToolResult } from './core.ts';
import type { Asked, RequestBook, RequestState } from './request-book.ts';
import { errorResult, jsonResult } from './results.ts';

const words = { type: 'array', items: { type: 'string' } } as const;

export const requestTool = {
  name: 'wraptool_request_capability',
  description:
    'Asks the operator to allow a host command that was denied. Send the `request` of the denial, with a rationale. Returns {request_id, status}; call again with request_id to learn the decision. An equal request is joined with the pending one.',
  inputSchema: {
    type: 'object',
    properties: {
      tool: { type: 'string', description: 'Configured name of the tool, for example "git".' },
      subcommand: {
        type: 'string',
        description: 'Subcommand words, for example "remote add"; empty for the tool itself.',
      },
      flags: { ...words, description: 'Flags that are needed, for example ["--force"].' },
      args: { ...words, description: 'Positional arguments that are needed.' },
      seq: { type: 'string', description: 'seq of the refused call.' },
      rationale: { type: 'string', maxLength: 2000, description: 'Why it is needed, for the operator.' },
      enables: { type: 'string', maxLength: 2000, description: 'What it makes possible, for the operator.' },
      wait: { type: 'number', minimum: 0, maximum: 50, description: 'Seconds to wait for the decision.' },
      request_id: {
        type: 'string',
        description: 'Asks for the state of that request; nothing else is needed then but wait.',
      },
    },
    additionalProperties: false,
  },
} as const;

type Query = { readonly id: string; readonly wait: number };
type NewRequest = { readonly asked: Omit<Asked, 'client'>; readonly wait: number };

const known = ['tool', 'subcommand', 'flags', 'args', 'seq', 'rationale', 'enables', 'wait', 'request_id'];
const mostItems = 64;
const longestItem = 4096;

/** Reads the tool's arguments; a string says what is wrong with them. */
export function readRequest(input: Readonly<Record<string, unknown>>): Query | NewRequest | string {
  const extra = onlyKeys(input, known);
  if (extra !== null) return extra;
  const wait = input['wait'] ?? 0;
  if (typeof wait !== 'number' || !(wait >= 0 && wait <= 50))
    return "'wait' must be a number of seconds from 0 to 50";
  const id = input['request_id'];
  if (id !== undefined)
    return typeof id === 'string' && /^req_[0-9a-f]{8}$/.test(id)
      ? { id, wait }
      : "'request_id' must be req_ and 8 hex digits";
  const { tool, subcommand = '', flags = [], args, seq, rationale, enables } = input;
  if (!isLine(tool) || tool === '') return "'tool' must be the configured name of a tool";
  if (!isLine(subcommand)) return "'subcommand' must be a string";
  if (!isItems(flags) || !flags.every((flag) => /^-./.test(flag)))
    return "'flags' must be a list of flags, each with its dashes";
  if (args !== undefined && !isItems(args)) return `'args' must be a list of at most ${mostItems} strings`;
  if (!isProse(rationale) || rationale.trim() === '')
    return "'rationale' must say why it is needed, in at most 2000 characters";
  if (enables !== undefined && !isProse(enables))
    return "'enables' must be a string of at most 2000 characters";
  if (seq !== undefined && (!isLine(seq) || seq.length > 200))
    return "'seq' must be the seq of a refused call";
  const asked = {
    tool,
    subcommand: subcommand.split(' ').filter((word) => word !== ''),
    flags,
    args: args ?? null,
    call: seq ?? null,
    rationale,
    enables: enables ?? null,
  };
  return { asked, wait };
}

const isLine = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= longestItem && value.isWellFormed();
const isProse = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= 2000 && value.isWellFormed();
const isItems = (value: unknown): value is string[] =>
  isStringList(value) && value.length <= mostItems && value.every(isLine);

const pollMs = 500;

/** Serves the tool; `wait` keeps the call open until the decision is there. */
export async function requestCapability(
  book: RequestBook,
  request: Query | NewRequest,
  client: string,
  signal: AbortSignal,
): Promise<ToolResult> {
  const first = 'id' in request ? await book.find(request.id) : await book.ask({ ...request.asked, client });
  if (first === null) return errorResult('there is no request of that id', { decision: 'unknown_request' });
  if (typeof first === 'string')
    return errorResult(`DENIED: ${first}`, { decision: 'deny', reason_code: 'busy', detail: first });
  let state: RequestState = first;
  const deadline = performance.now() + request.wait * 1000;
  while (state.status === 'pending' && performance.now() < deadline && !signal.aborted) {
    await pause(Math.min(pollMs, Math.max(0, deadline - performance.now())));
    state = (await book.find(first.id)) ?? state;
  }
  return jsonResult({
    request_id: state.id,
    status: state.status,
    ...(state.reason === null ? {} : { reason: state.reason }),
    ...(state.verdict === null ? {} : { verdict: state.verdict }),
  });
}
