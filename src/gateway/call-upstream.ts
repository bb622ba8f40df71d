/** The path of one call to an upstream server: filter → log → server → log. Its result passes as it is. */
import type { Config } from '../config/types.ts';
import { isAllowed } from '../proxy/catalog.ts';
import type { ReasonCode } from '../policy/types.ts';
import type { UpstreamOutcome, UpstreamResult, Upstreams } from '../proxy/types.ts';
import type { Active } from './active.ts';
import type { Hold } from './admission.ts';
import type { CallOptions, ToolResult } from './core.ts';
import { finishCall, logDecided, type Recorder } from './records.ts';
import type { Registered } from './registry.ts';
import { denialResult, refusal } from './results.ts';

export type UpstreamCall = {
  readonly tool: Extract<Registered, { kind: 'upstream' }>;
  readonly args: Readonly<Record<string, unknown>>;
  readonly options: CallOptions;
  readonly seq: string;
  /** No rule says of a server's tool that it only reads: all of them are held. */
  readonly hold: Hold | null;
};

/** `forwarded`: the server's own, to be left as it is; else a denial of ours. Throws WraptoolError log_unavailable. */
export async function callUpstream(
  stages: Recorder & { readonly upstreams: Upstreams },
  active: Active,
  { tool: { name, server, tool }, args, options, seq, hold }: UpstreamCall,
): Promise<{ readonly forwarded: boolean; readonly result: ToolResult }> {
  const deny = (outcome: { reason: ReasonCode; detail: string }) =>
    refusal(outcome.reason, outcome.detail, { tool: name });
  const problem = filtered(active.snapshot.config, server, tool);
  const why = problem === null ? hold : ({ reason: 'upstream_tool_not_allowed', detail: problem } as const);
  const denied = why === null ? null : deny(why);
  logDecided(stages.log, active.scrub, {
    seq,
    decision: denied ?? { decision: 'allow', tool: name, subcommand: [], argv: [], rule: null },
    cwd: null,
    config: active.snapshot.hash,
  });
  if (denied) return { forwarded: false, result: denialResult(denied, seq, active.scrub) };
  const began = performance.now();
  const outcome = await stages.upstreams.call(name, args, options);
  finishCall(stages, seq, ended(outcome, performance.now() - began, options.signal.aborted));
  if (outcome.kind === 'refused')
    return { forwarded: false, result: denialResult(deny(outcome), seq, active.scrub) };
  return { forwarded: true, result: outcome.result };
}

/** Why a tool is not allowed, by the config that the call began with, whatever a reload has changed since. */
export function filtered({ mcp_servers: servers }: Config, server: string, tool: string): string | null {
  const filter = servers[server];
  return filter !== undefined && isAllowed(filter, tool)
    ? null
    : `tool '${tool}' of upstream server '${server}' is not in its allowlist`;
}

function ended(outcome: UpstreamOutcome, durationMs: number, cancelled: boolean) {
  if (outcome.kind === 'refused') return { kind: 'refused', detail: outcome.detail } as const;
  return { kind: 'answered', durationMs, cancelled, chars: charsOf(outcome.result) } as const;
}

function charsOf({ content }: UpstreamResult): number {
  const strings = content.flatMap((block) => [block['text'], block['data']]);
  return strings.reduce<number>((sum, text) => sum + (typeof text === 'string' ? text.length : 0), 0);
}
