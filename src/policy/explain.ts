/** Denied -> the text that the agent reads, and the same facts for programs. */
import { show, showCommand } from './text.ts';
import type { Denied } from './types.ts';

/** Ready to be sent to wraptool_request_capability. */
export type CapabilityRequest = {
  readonly tool: string;
  readonly subcommand: string;
  readonly flags: readonly string[];
  readonly args?: readonly string[];
  readonly seq?: string;
  readonly rationale: string;
};

/** A type, not an interface, so that it is a record of unknown values too. */
export type StructuredDenial = {
  readonly decision: 'deny';
  readonly reason_code: string;
  readonly detail: string;
  readonly tool: string;
  /** Words joined by spaces; empty for the bare tool or where none was found. */
  readonly subcommand: string;
  readonly offending: string | null;
  readonly allowed_flags: readonly string[];
  /** argv after the tool's name, ready for wraptool_run. */
  readonly nearest_allowed: readonly string[] | null;
  readonly request: CapabilityRequest | null;
  readonly seq: string | null;
};

export function explain(
  denied: Denied,
  options: { seq?: string | undefined; nearest?: readonly string[] | null } = {},
): { text: string; structured: StructuredDenial } {
  const command = showCommand([denied.tool, ...denied.argv]);
  const lines = [`DENIED: '${command}' is not permitted.`, '', `Policy: ${denied.detail}.`];
  if (showsFlags(denied)) {
    const flags = denied.allowedFlags.map((flag) => show(flag)).join(', ');
    lines.push(`Allowed flags for '${showCommand([denied.tool, ...denied.subcommand])}': ${flags || 'none'}`);
  }
  lines.push('', "To request this capability, call the 'wraptool_request_capability' tool.");
  return { text: lines.join('\n'), structured: structured(denied, options.seq, options.nearest ?? null) };
}

/** Where a rule was found, its flags help; a deny rule says all there is to say. */
function showsFlags(denied: Denied): boolean {
  return denied.rule !== null && denied.rule.effect === 'allow' && denied.reason.startsWith('flag_');
}

function structured(
  denied: Denied,
  seq: string | undefined,
  nearest: readonly string[] | null,
): StructuredDenial {
  return {
    decision: 'deny',
    reason_code: denied.reason,
    detail: denied.detail,
    tool: denied.tool,
    subcommand: denied.subcommand.join(' '),
    offending: denied.offending,
    allowed_flags: denied.allowedFlags,
    nearest_allowed: nearest,
    request: request(denied, seq),
    seq: seq ?? null,
  };
}

const notRequestable: ReadonlySet<string> = new Set([
  'request_malformed',
  'argument_malformed',
  'cwd_outside_roots',
  'cwd_invalid',
  'cwd_not_found',
  'runtime_unproven',
  'quiescing',
  'busy',
  'log_unavailable',
]);

function request(denied: Denied, seq: string | undefined): CapabilityRequest | null {
  if (notRequestable.has(denied.reason)) return null;
  const { flags, args } = asked(denied);
  return {
    tool: denied.tool,
    subcommand: denied.subcommand.join(' '),
    flags,
    ...(args.length > 0 ? { args } : {}),
    ...(seq === undefined ? {} : { seq }),
    rationale: `needed to run ${showCommand([denied.tool, ...denied.argv])}`.slice(0, 2000),
  };
}

/** The flags that are not allowed yet, and the positionals, of the refused call. */
function asked(denied: Denied): { flags: readonly string[]; args: readonly string[] } {
  if (denied.flag) return { flags: [denied.flag], args: [] };
  const rest = afterPath(denied.argv, denied.subcommand);
  const end = rest.indexOf('--');
  const options = end < 0 ? rest : rest.slice(0, end);
  const named = options.filter((token) => token.startsWith('-') && token !== '-');
  const flags = [...new Set(named.map((token) => token.replace(/=.*$/s, '')))];
  const args = rest.filter(
    (token, index) => token !== '--' && (!token.startsWith('-') || (end >= 0 && index > end)),
  );
  return {
    flags: denied.rule === null ? flags.filter((flag) => !denied.allowedFlags.includes(flag)) : [],
    args,
  };
}

function afterPath(argv: readonly string[], path: readonly string[]): readonly string[] {
  const start = path.length === 0 ? 0 : argv.indexOf(path[0] ?? '');
  return start < 0 ? argv : argv.slice(start + path.length);
}
