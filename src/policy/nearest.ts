/** What the caller may have meant that is allowed. */
import { evaluate } from './evaluate.ts';
import type { Policy, Word } from './rule.ts';
import { nearest } from './text.ts';
import type { Denied } from './types.ts';

const hopeless: ReadonlySet<string> = new Set([
  'request_malformed',
  'argument_malformed',
  'tool_not_allowed',
  'no_allow_rules',
  'cwd_outside_roots',
  'cwd_invalid',
  'cwd_not_found',
]);

/** A denial must not cost more the more rules there are. */
const maxPaths = 200;

/** The nearest call that the policy allows, as canonical argv after the tool's name, or null. */
export function nearestAllowed(policy: Policy, denied: Denied): readonly string[] | null {
  if (hopeless.has(denied.reason) || denied.argv.length > 64) return null;
  for (const argv of candidates(denied, policy)) {
    const decision = evaluate(policy, { tool: denied.tool, argv });
    if (decision.decision === 'allow') return decision.argv;
  }
  return null;
}

function* candidates(denied: Denied, policy: Policy): Generator<readonly string[]> {
  const { argv, offending } = denied;
  const root = policy.tools.get(denied.tool)?.root;
  if (denied.reason === 'subcommand_not_allowed' && root) yield* otherPaths(denied, root);
  if (denied.reason === 'flag_required' && offending !== null)
    yield splice(argv, denied.subcommand.length, 0, offending);
  const flag = denied.flag ?? null;
  const index = argv.findIndex(
    (token) => token === offending || token === flag || (flag !== null && token.startsWith(`${flag}=`)),
  );
  if (index < 0) return;
  const meant = flag === null ? null : nearest(flag, denied.allowedFlags);
  if (meant !== null && flag !== null) yield splice(argv, index, 1, (argv[index] ?? '').replace(flag, meant));
  // A refused value goes with its flag.
  if (flag !== null && argv[index] !== flag && argv[index - 1] === flag) yield splice(argv, index - 1, 2);
  yield splice(argv, index, 1);
  yield splice(argv, index, 2);
}

function splice(argv: readonly string[], at: number, remove: number, ...insert: string[]): readonly string[] {
  return argv.toSpliced(at, remove, ...insert);
}

/** The same arguments under the allowed subcommand whose words are nearest. */
function* otherPaths(denied: Denied, root: Word): Generator<readonly string[]> {
  const words = denied.subcommand.join(' ');
  const paths = allowedPaths(root, maxPaths);
  const meant = nearest(words, paths);
  if (meant === null) return;
  const at = denied.argv.indexOf(denied.subcommand[0] ?? '');
  yield splice(denied.argv, at, denied.subcommand.length, ...meant.split(' '));
}

/** Paths with allow rules, words joined by spaces, in the order of the tree. */
export function allowedPaths(root: Word, limit = Infinity): string[] {
  return allowedWords(root, limit).map(({ allow }) => allow[0]?.path.join(' ') ?? '');
}

/** Words with allow rules, in the order of the tree. */
export function allowedWords(root: Word, limit = Infinity): Word[] {
  const found: Word[] = [];
  const visit = (word: Word): void => {
    if (found.length >= limit) return;
    if (word.allow.length > 0) found.push(word);
    for (const next of word.next.values()) visit(next);
  };
  visit(root);
  return found;
}
