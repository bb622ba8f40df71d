/** What a client gets back: the shapes of results and denials. */
import type { Outcome } from '../executor/types.ts';
import { explain } from '../policy/explain.ts';
import type { Denied, ReasonCode } from '../policy/types.ts';
import type { ToolResult } from './core.ts';

export type Finished = Extract<Outcome, { kind: 'finished' }>;

/** stdout, then stderr, then how it ended where that is not 0. */
export function outcomeResult(
  outcome: Finished,
  facts: { cwd: string; seq: string; timeoutMs: number },
): ToolResult {
  const isError = outcome.exitCode !== 0 || outcome.timedOut || outcome.cancelled;
  const notes = outcome.notes.map((note) => `note: ${note}`);
  return {
    content: [
      {
        type: 'text',
        text: lines([outcome.stdout, outcome.stderr, ...notes, ...ending(outcome, facts.timeoutMs)]),
      },
    ],
    structuredContent: {
      exit_code: outcome.exitCode,
      signal: outcome.signal,
      truncated: outcome.truncated,
      duration_ms: Math.round(outcome.durationMs),
      cwd: facts.cwd,
      seq: facts.seq,
      ...(outcome.timedOut ? { timed_out: true } : {}),
      ...(outcome.notes.length > 0 ? { notes: outcome.notes } : {}),
    },
    isError,
  };
}

function ending(outcome: Finished, timeoutMs: number): string[] {
  if (outcome.cancelled) return ['cancelled by the client'];
  if (outcome.timedOut) return [`timed out after ${timeoutMs / 1000} s`];
  if (outcome.exitCode === null) return [`ended by ${outcome.signal ?? 'a signal'}`];
  return outcome.exitCode === 0 ? [] : [`exit code ${outcome.exitCode}`];
}

/** Joins parts so that each begins on a line of its own; nothing is added to output that stands alone. */
function lines(parts: readonly string[]): string {
  let text = '';
  for (const part of parts) {
    if (part === '') continue;
    text += text === '' || text.endsWith('\n') ? part : `\n${part}`;
  }
  return text;
}

/** A denial: its text for the model, the same facts for programs, secrets gone from both. */
export function denialResult(
  denied: Denied,
  seq: string | null,
  scrub: (text: string) => string,
  nearest: readonly string[] | null = null,
): ToolResult {
  const { text, structured } = explain(denied, { seq: seq ?? undefined, nearest });
  return {
    content: [{ type: 'text', text: scrub(text) }],
    structuredContent: scrubbed(structured, scrub) as Record<string, unknown>,
    isError: true,
  };
}

/** A denial that no rule made. */
export function refusal(
  reason: ReasonCode,
  detail: string,
  call: { readonly tool: string; readonly subcommand?: readonly string[]; readonly argv?: readonly string[] },
): Denied {
  return {
    decision: 'deny',
    reason,
    detail,
    tool: call.tool,
    subcommand: call.subcommand ?? [],
    argv: call.argv ?? [],
    offending: null,
    flag: null,
    allowedFlags: [],
    rule: null,
  };
}

/** Every string of a JSON value scrubbed. */
export function scrubbed(value: unknown, scrub: (text: string) => string): unknown {
  if (typeof value === 'string') return scrub(value);
  if (Array.isArray(value)) return value.map((item) => scrubbed(item, scrub));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, scrubbed(item, scrub)]));
}

/** A JSON answer of one of the gateway's own tools: as text for clients that read only that, and structured. */
export function jsonResult(value: Readonly<Record<string, unknown>>): ToolResult {
  return {
    content: [{ type: 'text', text: JSON.stringify(value) }],
    structuredContent: value,
    isError: false,
  };
}

export function errorResult(text: string, facts: Readonly<Record<string, unknown>> = {}): ToolResult {
  return { content: [{ type: 'text', text }], structuredContent: facts, isError: true };
}
