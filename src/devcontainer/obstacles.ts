/** Why a definition cannot be used as it is, even approved: what cannot be copied, or be taken two ways. */
import type { Inspection } from './inspect.ts';
import type { Finding } from './types.ts';

const reasons: Readonly<Record<string, string>> = {
  parse_error:
    'it is not valid JSON with comments, or has control characters in it: readers may take it differently',
  symlink_outside: 'a link leads out of the workspace',
  dockerfile_outside: 'its Dockerfile is not in the workspace',
  build_context_outside: 'its build context is not in the workspace',
  compose_file:
    'it uses a compose file: that starts several containers, which a session cannot check and end as its own, and it can ask the engine for anything',
  feature_local: 'a feature is not in the workspace',
};

/** One line each with the place; empty: it can be used after approval. */
export function obstacles({ findings, tooMuch, origin }: Inspection): readonly string[] {
  const found = findings.filter(hinders).map((finding) => `${place(finding)}: ${why(finding)}`);
  if (origin === 'none') found.push('(whole): it names neither an image nor a Dockerfile');
  if (tooMuch) found.push('(whole): it names more files than are copied');
  return [...new Set(found)];
}

function hinders(finding: Finding): boolean {
  if (finding.code === 'parse_error') return finding.severity === 'host' || finding.json_path !== '';
  if (sharesProcesses(finding)) return true;
  // Its mounts cannot be told from others.
  if (/volumes-from/.test(finding.detail.arg ?? '') && finding.code === 'run_args')
    return finding.severity === 'host';
  // A word of the run arguments that is no known option.
  if (finding.code === 'run_args')
    return finding.severity === 'host' && /^(taken for|unknown|without)/.test(finding.detail.why);
  return finding.severity === 'host' && reasons[finding.code] !== undefined;
}

/** A session ends every process that its container shows: that must never be others'. */
function sharesProcesses({ code, detail }: Finding): boolean {
  return (code === 'host_namespace' || code === 'run_args') && /^--pid\b/.test(detail.arg ?? '');
}

function why(finding: Finding): string {
  const { code, detail } = finding;
  if (sharesProcesses(finding)) return 'the processes of a session must be its own';
  return code === 'run_args' ? `${detail.arg ?? ''}: ${detail.why}` : (reasons[code] ?? detail.why);
}

function place({ file, json_path }: Finding): string {
  return [file, json_path === '' ? '(whole)' : json_path].filter((part) => part !== undefined).join(' ');
}
