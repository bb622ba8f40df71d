/** A call as `policy test` gets it -> Decision, with the cwd stage where a cwd is given. */
import type { Config } from '../config/types.ts';
import { openCwd, resolveRoots, resolveWorkingDir, type Root } from '../gateway/cwd.ts';
import { evaluate } from '../policy/evaluate.ts';
import type { Policy } from '../policy/compile.ts';
import type { CwdVerdict, Decision, Denied } from '../policy/types.ts';

/** Of any types: what comes from a file is judged as what comes from the wire. */
export type Asked = { readonly argv: unknown; readonly cwd?: unknown; readonly url_query?: unknown };

/** What the client said about its working directory -> verdict, and why the request itself is malformed. */
export type JudgeCwd = (
  tool: string,
  said: { cwd: string } | { query: string },
) => Promise<{ verdict: CwdVerdict; malformed: string | null }>;

export function cwdJudge(config: Config): JudgeCwd {
  let roots: Promise<readonly Root[]> | null = null;
  return async (tool, said) => {
    roots ??= resolveRoots(config.mcp.allowed_cwd_roots);
    const folder = Object.hasOwn(config.tools, tool) ? config.tools[tool]?.working_dir : undefined;
    const opened = await openCwd({
      query: 'query' in said ? said.query : '',
      peerCwd: 'cwd' in said ? said.cwd : null,
      workingDir: folder && 'query' in said ? await resolveWorkingDir(folder) : null,
      roots: await roots,
    });
    await opened.dir?.close();
    return { verdict: opened.verdict, malformed: opened.malformed };
  };
}

export async function judgeCall(policy: Policy, asked: Asked, judgeCwd: JudgeCwd): Promise<Decision> {
  const { argv, cwd, url_query: query } = asked;
  if (!Array.isArray(argv) || typeof argv[0] !== 'string')
    return malformed('', 'a call is a list of strings that begins with the tool');
  const [tool, ...rest] = argv as [string, ...string[]];
  if (cwd !== undefined && typeof cwd !== 'string') return malformed(tool, 'cwd is not a string');
  if (query !== undefined && typeof query !== 'string') return malformed(tool, 'url_query is not a string');
  if (cwd !== undefined && query !== undefined)
    return malformed(tool, 'cwd and url_query cannot go together');
  const said = cwd === undefined ? (query === undefined ? null : { query }) : { cwd };
  if (said === null) return evaluate(policy, { tool, argv: rest });
  const { verdict, malformed: why } = await judgeCwd(tool, said);
  return why === null ? evaluate(policy, { tool, argv: rest }, verdict) : malformed(tool, why);
}

function malformed(tool: string, detail: string): Denied {
  return {
    decision: 'deny',
    reason: 'request_malformed',
    detail,
    tool,
    subcommand: [],
    argv: [],
    offending: null,
    flag: null,
    allowedFlags: [],
    rule: null,
  };
}
