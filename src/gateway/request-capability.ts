/** `wraptool_request_capability`: asks the operator for what policy denies. It grants nothing. */
import { isStringList, onlyKeys } from './arguments.ts';
import { evaluate } from '../policy/evaluate.ts';
import type { Policy } from '../policy/compile.ts';
import type { Asked, RequestBook } from '../requests/book.ts';
import { callOf, isMet } from '../requests/change.ts';
import { exactRule } from '../requests/exact.ts';
import type { Request } from '../requests/types.ts';
import type { Active } from './active.ts';
import type { CallOptions, ToolResult } from './core.ts';
import type { RefusedCalls } from './refused.ts';
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
type Wish = Omit<Asked, 'client' | 'argv' | 'cwd'>;
type NewRequest = { readonly asked: Wish; readonly wait: number };

const known = ['tool', 'subcommand', 'flags', 'args', 'seq', 'rationale', 'enables', 'wait', 'request_id'];
const mostItems = 64;
const longestItem = 4096;
const mostChars = 16 * 1024;

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
  if (flags.some((flag) => flag.includes('=')))
    return "'flags' must be names of flags: a value goes with the refused call that 'seq' names";
  if (args !== undefined && !isItems(args)) return `'args' must be a list of at most ${mostItems} strings`;
  const chars = [tool, subcommand, ...flags, ...(args ?? [])].reduce((sum, text) => sum + text.length, 0);
  if (chars > mostChars) return `a request has at most ${mostChars} characters beside its reasons`;
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

const beatMs = 5_000;

export type RequestStages = {
  readonly active: () => Active;
  readonly requests: RequestBook;
  readonly refused: RefusedCalls;
  readonly reloadConfig: () => Promise<void>;
};

/** Serves the tool; `wait` keeps the call open until the decision is there. */
export async function requestCapability(
  stages: RequestStages,
  request: Query | NewRequest,
  client: string,
  { signal, progress }: CallOptions,
): Promise<ToolResult> {
  const { requests } = stages;
  const first =
    'id' in request
      ? await requests.find(request.id)
      : await requests.ask({ ...(await complete(stages, request.asked)), client });
  if (first === null) return errorResult('there is no request of that id', { decision: 'unknown_request' });
  if (typeof first === 'string')
    return errorResult(`DENIED: ${first}`, { decision: 'deny', reason_code: 'busy', detail: first });
  const beat = () => progress?.({ message: `waiting for the operator to decide on ${first.id}` });
  const state = await decided(requests, first, request.wait * 1000, signal, beat);
  return jsonResult({ request_id: state.id, status: state.status, ...(await answer(stages, state)) });
}

/** With the refused call that it names, where that is known and is a call of that subcommand. */
async function complete({ active, refused }: RequestStages, asked: Wish): Promise<Omit<Asked, 'client'>> {
  const call = asked.call === null ? null : await refused.find(asked.call);
  const fits =
    call !== null &&
    call.tool === asked.tool &&
    exactRule(active().snapshot.policy, asked.tool, asked.subcommand, call.argv) !== null;
  return { ...asked, argv: fits ? call.argv : null, cwd: fits ? call.cwd : null };
}

/** The request when it is decided, or as it is after `ms`, or when the client gives up. */
async function decided(
  requests: RequestBook,
  first: Request,
  ms: number,
  signal: AbortSignal,
  beat: () => void,
): Promise<Request> {
  if (first.status !== 'pending' || ms === 0 || signal.aborted) return first;
  beat();
  const beats = setInterval(beat, beatMs);
  const done = Promise.withResolvers<void>();
  const timer = setTimeout(done.resolve, ms);
  signal.addEventListener('abort', () => done.resolve(), { once: true });
  let last = first;
  const look = () => {
    requests.find(first.id).then((found) => {
      last = found ?? last;
      if (last.status !== 'pending') done.resolve();
    }, done.reject);
  };
  const release = requests.onChanged(look);
  // What was decided before the listener stood is no change any more.
  look();
  try {
    await done.promise;
    return (await requests.find(first.id)) ?? last;
  } finally {
    clearInterval(beats);
    clearTimeout(timer);
    release();
  }
}

/** What the decision means now: an approved call that is repeated at once must meet what is said here. */
async function answer(stages: RequestStages, { decision, ...request }: Request) {
  if (decision === null) return {};
  if (request.status === 'denied') return { reason: decision.reason };
  const { snapshot } = stages.active();
  if (decision.config !== null && decision.config !== snapshot.hash) await stages.reloadConfig();
  const { listed } = stages.active();
  return { verdict: verdict(listed, { ...request, decision }) };
}

function verdict(policy: Policy, request: Request): 'allow' | 'deny' {
  return isMet(request, evaluate(policy, callOf(request))) ? 'allow' : 'deny';
}
