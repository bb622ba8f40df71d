/** The closed union of log events. `n`, `time`, `prev` and `hash` are the writer's; everything else is one event's facts. */
import { z } from '../zod.ts';

const seq = z.string().max(200);
const text = z.string();
const words = z.array(z.string());
const actor = z.string();

/** What was left out of an argv: how much the whole was, and the sha256 (hex) of its JSON, by which it can be told. */
const cut = z.strictObject({ words: z.number(), chars: z.number(), sha256: text });

/** argv as the client gave it, scrubbed; where it is longer than is kept, its beginning and what was cut off. */
const asked = { argv: words.nullable(), argv_cut: z.union([z.boolean(), cut]).optional() };

const received = z.strictObject({
  event: z.literal('received'),
  /** Registered MCP name. */
  name: text,
  tool: text.nullable(),
  ...asked,
  /** Of a call to an upstream server: its arguments as JSON, scrubbed, cut where they are larger than a record may be. */
  arguments: text.optional(),
  client: text,
  mcp_session: text.nullable(),
  key: text.nullable(),
});

const decided = z.strictObject({
  event: z.literal('decided'),
  call: seq,
  decision: z.enum(['allow', 'deny']),
  reason: text.nullable(),
  detail: text.nullable(),
  tool: text,
  subcommand: words,
  ...asked,
  cwd: text.nullable(),
  rule: z.strictObject({ file: text, line: z.number(), effect: z.enum(['allow', 'deny']) }).nullable(),
  /** Hash of the config that decided. */
  config: text,
  /** The grant that allowed what the config does not. */
  grant: text.optional(),
  /** Of a grant that is counted: what is left after this use. */
  uses_left: z.number().optional(),
});

const finished = z.strictObject({
  event: z.literal('finished'),
  call: seq,
  outcome: z.enum(['exited', 'refused', 'failed', 'answered']),
  exit_code: z.number().nullable(),
  signal: text.nullable(),
  timed_out: z.boolean(),
  cancelled: z.boolean(),
  truncated: z.boolean(),
  duration_ms: z.number(),
  output_chars: z.number(),
  detail: text.nullable(),
});

const requested = z.strictObject({
  event: z.literal('requested'),
  id: z.string().regex(/^req_[0-9a-f]{8}$/),
  /** sha256 over what is asked: equal requests have equal digests. */
  digest: text,
  tool: text,
  subcommand: words,
  flags: words,
  args: words.nullable(),
  call: seq.nullable(),
  rationale: text,
  enables: text.nullable(),
  client: text,
  /** Id of the session, which its name is not: names come again. */
  session_id: text.optional(),
  /** Real path of the gateway's config: the one that `--apply` edits. */
  config_file: text.optional(),
  /** Of the refused call that `call` names: argv and folder. */
  argv: words.nullable().optional(),
  cwd: text.nullable().optional(),
});

const approved = z.strictObject({
  event: z.literal('approved'),
  id: text,
  actor,
  scope: z.enum(['apply', 'once', 'uses', 'for', 'session']),
  /** sha256 over what was shown. */
  digest: text,
  verdict: z.enum(['allow', 'deny']).nullable(),
  /** `begin` is written before the config is, so that after a crash the file's hash tells whether it was. */
  step: z.enum(['begin', 'done']).optional(),
  config: z.strictObject({ file: text, before: text, after: text }).optional(),
});
const denied = z.strictObject({ event: z.literal('denied'), id: text, actor, reason: text });
const granted = z.strictObject({
  event: z.literal('granted'),
  grant: text,
  id: text.nullable(),
  actor,
  session_id: text.nullable(),
  expires: text.nullable(),
  uses: z.number().nullable(),
  scope: z.enum(['once', 'uses', 'for', 'session']).optional(),
  why: text.optional(),
  verdict: z.enum(['allow', 'deny']).optional(),
  /** What is allowed, as `--apply` would write it. */
  rule: z
    .strictObject({
      tool: text,
      subcommand: text.nullable(),
      flags: words,
      exact: z
        .strictObject({
          values: z.record(z.string(), words),
          args: words,
          repeat: words.optional(),
          optional: words.optional(),
          detached: words.optional(),
          open: z.enum(['flags', 'all']).optional(),
          end: z.boolean().optional(),
        })
        .optional(),
    })
    .optional(),
});
const revoked = z.strictObject({ event: z.literal('revoked'), grant: text, actor, reason: text.nullable() });

const reload = z.strictObject({
  event: z.literal('reload'),
  result: z.enum(['loaded', 'kept', 'swapped']),
  config: text,
  detail: text.nullable(),
  session_id: text.optional(),
});
const up = z.strictObject({
  event: z.literal('up'),
  namespace: text,
  what: z.enum(['gateway', 'session']),
  pid: z.number(),
  facts: z.record(z.string(), z.union([z.string(), z.number(), z.null()])),
});
const down = z.strictObject({
  event: z.literal('down'),
  namespace: text,
  what: z.enum(['gateway', 'session']),
  pid: z.number(),
  cause: text,
});
const restart = z.strictObject({
  event: z.literal('restart'),
  namespace: text,
  actor,
  mode: text,
  result: text,
  reason: text.nullable(),
  action_id: text.nullable(),
  /** What it belongs to: `restart` one request and its outcome, `session`, `marker`. */
  ids: z.record(z.string(), z.string()).optional(),
});
const contamination = z.strictObject({
  event: z.literal('contamination'),
  namespace: text,
  reason: text,
  detail: text.nullable(),
  marker: text.optional(),
});

export const eventSchema = z.discriminatedUnion('event', [
  received,
  decided,
  finished,
  requested,
  approved,
  denied,
  granted,
  revoked,
  reload,
  up,
  down,
  restart,
  contamination,
]);

const sealed = z.object({
  /** 1-based place in its file. */
  n: z.number().int().positive(),
  /** ISO 8601, UTC, milliseconds. */
  time: z.iso.datetime(),
  prev: z.string().regex(/^[0-9a-f]{64}$/),
  /** Name of the `up` session, null for a bare gateway or a command. */
  session: z.string().nullable(),
  /** Offset in the file of the newest key record before this one; null where there is none. Absent in older logs. */
  back: z.number().int().nonnegative().nullable().optional(),
  /** In a file's first record: the newest record of another file then, so that its loss shows. */
  after: z.strictObject({ file: z.string(), n: z.number(), hash: z.string() }).optional(),
  hash: z.string().regex(/^[0-9a-f]{64}$/),
});

export type LogEvent = z.infer<typeof eventSchema>;

/**
 * Whether readers of requests and grants need it: these records are linked by `back` from the newest back to the
 * first, so that nobody has to read the calls between them.
 */
export function isKey(event: LogEvent): boolean {
  if (event.event === 'received' || event.event === 'finished') return false;
  return event.event !== 'decided' || event.uses_left !== undefined;
}

export type LogRecord = z.infer<typeof sealed> & LogEvent;
export type Entry = { readonly seq: string; readonly record: LogRecord };

/** One line of a log file to its record; null where the line is none. */
export function parseRecord(line: string): LogRecord | null {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
  const head = sealed.safeParse(value);
  if (!head.success) return null;
  const {
    n: _n,
    time: _time,
    prev: _prev,
    session: _session,
    after: _after,
    back: _back,
    hash: _hash,
    ...rest
  } = value as Record<string, unknown>;
  const event = eventSchema.safeParse(rest);
  return event.success ? { ...head.data, ...event.data } : null;
}
