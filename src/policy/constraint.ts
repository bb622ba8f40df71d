/** What one value or positional must be. */
import { compilePattern, type PatternResult } from './pattern/pattern.ts';
import type { ConfigPath, ConstraintSpec, Problem } from './spec.ts';
import type { Pattern } from './pattern/pattern.ts';

export type Constraint = {
  readonly enum: ReadonlySet<string> | null;
  readonly pattern: Pattern | null;
  readonly path: 'cwd' | readonly string[] | null;
  readonly ext: readonly string[] | null;
  readonly type: 'int' | 'url' | null;
  readonly min: number | null;
  readonly max: number | null;
  readonly multiline: boolean;
};

export const anything: Constraint = {
  enum: null,
  pattern: null,
  path: null,
  ext: null,
  type: null,
  min: null,
  max: null,
  multiline: false,
};

/** Collects what is wrong while the parts of the config are compiled. */
export type Findings = {
  readonly problems: Problem[];
  readonly warnings: Problem[];
  /** Compiled patterns: the same text is judged once. */
  readonly patterns: Map<string, PatternResult>;
};

export function readPattern(
  source: string,
  dotAll: boolean,
  at: ConfigPath,
  findings: Findings,
): Pattern | null {
  const key = `${dotAll ? 's' : ''}:${source}`;
  let result = findings.patterns.get(key);
  if (!result) findings.patterns.set(key, (result = compilePattern(source, dotAll)));
  if ('error' in result) {
    findings.problems.push({ path: at, message: result.error });
    return null;
  }
  if (result.growth === 'polynomial')
    findings.warnings.push({
      path: at,
      message: `matching "${source}" takes time that grows faster than the value; it is cut off in time, but a stricter pattern is better`,
    });
  return result.pattern;
}

export function compileConstraint(spec: ConstraintSpec, at: ConfigPath, findings: Findings): Constraint {
  if (spec.enum?.length === 0)
    findings.problems.push({ path: [...at, 'enum'], message: 'expected at least one value' });
  if ((spec.min !== undefined || spec.max !== undefined) && spec.type !== 'int')
    findings.problems.push({
      path: [...at, spec.min === undefined ? 'max' : 'min'],
      message: 'min and max go with type: int',
    });
  if (spec.min !== undefined && spec.max !== undefined && spec.min > spec.max)
    findings.problems.push({
      path: [...at, 'min'],
      message: `min ${spec.min} is greater than max ${spec.max}`,
    });
  const pattern =
    spec.pattern === undefined ? null : readPattern(spec.pattern, false, [...at, 'pattern'], findings);
  return {
    enum: spec.enum ? new Set(spec.enum) : null,
    pattern,
    // A path type without folders is held to the folder of the call: never wider than that.
    path: spec.path ?? (spec.type === 'path' ? 'cwd' : null),
    ext: spec.ext === undefined ? null : typeof spec.ext === 'string' ? [spec.ext] : spec.ext,
    type: spec.type === 'int' || spec.type === 'url' ? spec.type : null,
    min: spec.min ?? null,
    max: spec.max ?? null,
    multiline: spec.multiline ?? false,
  };
}

/** Whether the constraint says anything about a value. */
export function constrains(spec: ConstraintSpec): boolean {
  return [spec.enum, spec.pattern, spec.path, spec.ext, spec.type, spec.min, spec.max].some(
    (part) => part !== undefined,
  );
}

export type Verdict = { readonly path: boolean; readonly why: string };

/** Why the value does not fit (`path`: because of a path's rules), or null. */
export function judge(constraint: Constraint, value: string): Verdict | null {
  if (constraint.enum && !constraint.enum.has(value)) return other(`not one of ${list(constraint.enum)}`);
  // A lone dash is standard input to most programs: only a name of its own admits it.
  if (value === '-' && !constraint.enum)
    return { path: constraint.path !== null, why: 'a lone dash has to be named by an enum' };
  if (constraint.pattern) {
    const matches = constraint.pattern.matches(value);
    if (matches === null) return other('too long for its pattern');
    if (!matches) return other(`not of the pattern ${constraint.pattern.source}`);
  }
  if (constraint.type === 'int' && !isInt(constraint, value)) return other(intForm(constraint));
  if (constraint.type === 'url' && !isUrl(value)) return other('not an http or https URL');
  if (constraint.path !== null) {
    const why = badPath(constraint.path, value);
    if (why !== null) return { path: true, why };
  }
  if (constraint.ext && !constraint.ext.some((ext) => value.endsWith(ext)))
    return { path: constraint.path !== null, why: `the name does not end in ${constraint.ext.join(' or ')}` };
  return null;
}

function other(why: string): Verdict {
  return { path: false, why };
}

function list(values: ReadonlySet<string>): string {
  const shown = [...values].slice(0, 8);
  return `${shown.join(', ')}${values.size > shown.length ? ', …' : ''}`;
}

function intForm(constraint: Constraint): string {
  const low = constraint.min === null ? '' : ` from ${constraint.min}`;
  const high = constraint.max === null ? '' : ` up to ${constraint.max}`;
  return `not a whole number${low}${high}`;
}

function isInt(constraint: Constraint, value: string): boolean {
  // No leading zero (octal to some), no plus sign, nothing a double cannot hold.
  if (!/^(?:0|-?[1-9][0-9]{0,15})$/.test(value)) return false;
  const number = Number(value);
  return (
    Number.isSafeInteger(number) &&
    (constraint.min === null || number >= constraint.min) &&
    (constraint.max === null || number <= constraint.max)
  );
}

function isUrl(value: string): boolean {
  // The form first: URL parsers forgive white space, backslashes and missing slashes.
  if (!/^https?:\/\/[^\s/\\?#@]+(?:[/?#][^\s\\]*)?$/.test(value)) return false;
  return URL.canParse(value);
}

/** Lexical rules only: what a path leads to on disk is the confinement's matter. */
function badPath(roots: 'cwd' | readonly string[], value: string): string | null {
  if (value === '') return 'an empty path';
  if (value.startsWith('-') || value.startsWith('~')) return `a path must not begin with ${value[0]}`;
  const slash = value.indexOf('/');
  const colon = value.indexOf(':');
  if (colon >= 0 && (slash < 0 || colon < slash))
    return 'a colon before the first slash names a host or a scheme';
  const segments = value.split('/');
  if (segments.includes('..')) return 'a path must not go up with ..';
  if (roots === 'cwd') return value.startsWith('/') ? 'not relative to the working directory' : null;
  const normal = normalize(value);
  return roots.some((root) => within(normalize(root), normal)) ? null : `not inside ${roots.join(' or ')}`;
}

function normalize(value: string): string {
  const parts = value.split('/').filter((part) => part !== '' && part !== '.');
  return value.startsWith('/') ? `/${parts.join('/')}` : parts.join('/');
}

function within(root: string, value: string): boolean {
  if (root.startsWith('/') !== value.startsWith('/')) return false;
  return root === '' || root === '/' || value === root || value.startsWith(`${root}/`);
}
