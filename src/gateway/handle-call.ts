/** The path of one call, and nothing else: cwd → policy → log → executor → log → response. It only calls the stages. */
import { WraptoolError } from '../errors.ts';
import type { Executor, FrozenCall, Outcome } from '../executor/types.ts';
import type { Log } from '../log/append.ts';
import type { Policy } from '../policy/compile.ts';
import { evaluate } from '../policy/evaluate.ts';
import { nearestAllowed } from '../policy/nearest.ts';
import type { Allowed, Decision, Denied } from '../policy/types.ts';
import type { Upstreams } from '../proxy/types.ts';
import type { RequestBook } from '../requests/book.ts';
import type { Active, ActiveTool } from './active.ts';
import type { Admission, Hold } from './admission.ts';
import { callUpstream, filtered } from './call-upstream.ts';
import type { CallOptions, Caller, ToolResult } from './core.ts';
import { openCwd, type OpenedCwd } from './cwd.ts';
import { discover } from './discover.ts';
import { fitToClient } from './fit.ts';
import { grantedCall } from './granted-call.ts';
import { findTool } from './offered.ts';
import { finishCall, logDecided, logReceived } from './records.ts';
import type { HelpReader } from './help.ts';
import type { RefusedCalls } from './refused.ts';
import type { Registered } from './registry.ts';
import type { Repeats } from './repeat.ts';
import { readRequest, requestCapability } from './request-capability.ts';
import { denialResult, errorResult, outcomeResult, refusal, scrubbed } from './results.ts';
import { runOfArgv, runOfTool, type Run } from './run.ts';

export type Stages = {
  readonly active: () => Active;
  readonly log: Log;
  readonly executor: Executor;
  readonly admission: Admission;
  readonly upstreams: Upstreams;
  readonly repeats: Repeats;
  readonly requests: RequestBook;
  readonly refused: RefusedCalls;
  /** Reads the config again, at once; resolves when it was loaded, or refused. */
  readonly reloadConfig: () => Promise<void>;
  readonly help: HelpReader;
  readonly fault: (error: unknown) => void;
};

/** How long `wraptool_discover` waits for programs to print their help; the next answer has what came later. */
const discoverPatienceMs = 5000;

type Args = Readonly<Record<string, unknown>>;
type Call = {
  readonly caller: Caller;
  readonly name: string;
  readonly args: Args;
  readonly options: CallOptions;
};

/** Serves one tools/call. Throws only what is a fault of the gateway itself. */
export async function handleCall(stages: Stages, call: Call): Promise<ToolResult> {
  const active = stages.active();
  const { scrub } = active;
  const { caller, name, args } = call;
  const registered = findTool(active, name);
  const run = readCall(active, registered, name, args);
  let seq: string;
  try {
    seq = logReceived(stages.log, scrub, {
      caller,
      name,
      run: 'decision' in run || registered?.kind === 'upstream' ? null : run,
      upstream:
        registered?.kind === 'upstream'
          ? { args, allowed: filtered(active.snapshot.config, registered.server, registered.tool) === null }
          : null,
    });
  } catch (error) {
    return fitToClient(unlogged(stages, error, name, scrub), caller.client);
  }
  return stages.repeats.once(caller, name, args, async () => {
    const { forwarded, result } = await perform(stages, active, call, seq, registered, run);
    // What a server answered is its own.
    return forwarded ? result : fitToClient(result, caller.client);
  });
}

async function perform(
  stages: Stages,
  active: Active,
  call: Call,
  seq: string,
  registered: Registered | undefined,
  run: Run | Denied,
): Promise<{ readonly forwarded: boolean; readonly result: ToolResult }> {
  const { args, options } = call;
  const ours = (result: ToolResult) => ({ forwarded: false, result });
  try {
    if (registered?.kind === 'upstream')
      return await callUpstream(stages, active, {
        tool: registered,
        args,
        options,
        seq,
        hold: await holdOf(stages, active, call),
      });
    if (registered?.kind === 'own' && registered.name !== 'wraptool_run')
      return ours(await ownTool(stages, active, registered.name, call));
    return ours(await command(stages, active, call, seq, run));
  } catch (error) {
    return ours(unlogged(stages, error, call.name, active.scrub));
  }
}

/** Why the call is refused if it may change something. The operator's own probe is what proves a gateway: it has to run. */
async function holdOf({ admission }: Stages, active: Active, { name, args }: Call): Promise<Hold | null> {
  const hold = await admission.hold();
  const probe = name === active.snapshot.config.supervisor.probe_tool && Object.keys(args).length === 0;
  return probe && hold?.reason === 'runtime_unproven' ? null : hold;
}

/** What is to be run, as the policy reads it; a denial says why the arguments are none. */
function readCall(
  active: Active,
  registered: Registered | undefined,
  name: string,
  args: Args,
): Run | Denied {
  // A tool that is gone, or was never there: the policy has the words for it.
  if (!registered) return { tool: name, argv: [], stdin: null };
  if (registered.kind === 'cli')
    return runOfTool(active.listed, registered.tool, registered.subcommand, args);
  if (registered.kind === 'upstream') return { tool: name, argv: [], stdin: null };
  return registered.name === 'wraptool_run' ? runOfArgv(args) : { tool: name, argv: [], stdin: null };
}

async function ownTool(
  stages: Stages,
  active: Active,
  name: string,
  { args, caller, options }: Call,
): Promise<ToolResult> {
  if (name === 'wraptool_discover')
    return discover(active, stages.help.within(active, discoverPatienceMs), stages.upstreams.status());
  const request = readRequest(args);
  if (typeof request === 'string')
    return errorResult(`DENIED: the request is malformed: ${request}`, {
      decision: 'deny',
      reason_code: 'request_malformed',
      detail: request,
    });
  const clean = scrubbed({ request, client: caller.client }, active.scrub) as {
    request: typeof request;
    client: string;
  };
  return requestCapability(stages, clean.request, clean.client, options);
}

async function command(
  stages: Stages,
  active: Active,
  call: Call,
  seq: string,
  run: Run | Denied,
): Promise<ToolResult> {
  const { scrub } = active;
  const tool = active.tools.get(run.tool);
  const { query, peerCwd } = call.caller;
  const opened = await openCwd({
    query,
    peerCwd: query.includes('cwd') ? null : await peerCwd(),
    workingDir: tool?.workingDir ?? null,
    roots: active.roots,
  });
  try {
    const cwd = opened.dir?.realPath ?? null;
    const read = decide(active, run, opened);
    // What changes nothing is admitted whatever there is: it does not wait for the answer.
    const hold = read.decision === 'allow' && read.readOnly ? null : await holdOf(stages, active, call);
    const own = admitted(read, hold);
    // A grant that is counted is not used up by a call that would be refused all the same.
    const granted =
      own.decision === 'deny' && hold === null && !('decision' in run)
        ? await grantedCall(stages, active, seq, own, cwd, (policy) => decideBy(policy, run, opened))
        : null;
    const decision = granted ?? own;
    if (granted === null) logDecided(stages.log, scrub, { seq, decision, cwd, config: active.snapshot.hash });
    if (decision.decision === 'deny') {
      remember(stages, scrub, seq, decision, cwd);
      return denialResult(decision, seq, scrub, nearestAllowed(active.snapshot.policy, decision));
    }
    if (!tool || !opened.dir || 'decision' in run)
      throw new WraptoolError('internal', 'the policy allowed a call without a tool or folder');
    const frozen = freeze(decision, tool, opened.dir, run.stdin, opened.root);
    return await act(stages, active, frozen, decision, seq, call.options);
  } finally {
    await opened.dir?.close();
  }
}

/** A request for what the agent itself did not see as it was sent could not be exact. */
function remember(
  { refused }: Stages,
  scrub: (text: string) => string,
  seq: string,
  { tool, argv }: Denied,
  cwd: string | null,
): void {
  if (argv.every((word) => scrub(word) === word)) refused.remember(seq, { tool, argv, cwd });
}

function decide(active: Active, run: Run | Denied, opened: OpenedCwd): Decision {
  return 'decision' in run ? run : decideBy(active.snapshot.policy, run, opened);
}

/** What was allowed and may change something is refused while there is a hold. */
function admitted(decision: Decision, hold: Hold | null): Decision {
  if (hold === null || decision.decision === 'deny' || decision.readOnly) return decision;
  return refusal(hold.reason, hold.detail, decision);
}

function decideBy(policy: Policy, run: Run, opened: OpenedCwd): Decision {
  if (opened.malformed !== null) return refusal('request_malformed', opened.malformed, run);
  const decision = evaluate(policy, run, opened.verdict);
  if (decision.decision === 'allow' && run.stdin !== null && !decision.stdin)
    return refusal('request_malformed', 'this command takes no stdin', {
      ...run,
      subcommand: decision.subcommand,
    });
  return decision;
}

/** One frozen value goes to the executor: what was decided is what runs. */
function freeze(
  allowed: Allowed,
  tool: ActiveTool,
  cwd: FrozenCall['cwd'],
  stdin: string | null,
  root: string | null,
): FrozenCall {
  return Object.freeze({
    tool: allowed.tool,
    subcommand: allowed.subcommand,
    binary: tool.binary,
    argv: allowed.argv,
    cwd,
    env: tool.env,
    stdin,
    timeoutMs: tool.config.timeout,
    maxOutputBytes: tool.config.max_output,
    maxConcurrent: tool.config.max_concurrent,
    guard: tool.config.guard === 'none' ? null : tool.config.guard,
    guardOptions: tool.guardOptions(root ?? cwd.realPath),
  });
}

async function act(
  stages: Stages,
  active: Active,
  frozen: FrozenCall,
  allowed: Allowed,
  seq: string,
  options: CallOptions,
): Promise<ToolResult> {
  const { scrub } = active;
  const { progress } = options;
  let outcome: Outcome;
  try {
    outcome = await stages.executor.run(frozen, {
      signal: options.signal,
      ...(progress ? { onLine: (message) => progress({ message }) } : {}),
    });
  } catch (error) {
    return failed(stages, scrub, frozen, seq, error);
  }
  finishCall(stages, seq, outcome);
  if (outcome.kind === 'refused') {
    const denied: Denied = { ...refusal(outcome.reason, outcome.detail, allowed), rule: allowed.rule };
    return denialResult(denied, seq, scrub);
  }
  return outcomeResult(outcome, { cwd: frozen.cwd.realPath, seq, timeoutMs: frozen.timeoutMs });
}

/** What the host lacks is said to the client as what it is; anything else is our fault and goes up. */
function failed(
  stages: Stages,
  scrub: (text: string) => string,
  frozen: FrozenCall,
  seq: string,
  error: unknown,
): ToolResult {
  finishCall(stages, seq, { kind: 'failed', detail: (error as Error).message });
  if (!(error instanceof WraptoolError) || error.code === 'internal') throw error;
  const typed = [frozen.tool, ...frozen.argv].join(' ');
  const text = scrub(`FAILED: '${typed}' was allowed but could not be run: ${error.message}`);
  return errorResult(text, { decision: 'allow', error: error.code, seq });
}

function unlogged(stages: Stages, error: unknown, name: string, scrub: (text: string) => string): ToolResult {
  if (!(error instanceof WraptoolError) || error.code !== 'log_unavailable') throw error;
  stages.fault(error);
  return denialResult(
    refusal('log_unavailable', 'the log cannot be written, so nothing is run', { tool: name }),
    null,
    scrub,
  );
}
