/** What the workspace's repository says of itself: asked in the box, believed for nothing but what to ask for. */
import { runBox, type Context } from './box.ts';
import type { ObjectFormat } from './private.ts';
import { isRefName, objectId } from './refs.ts';
import { Ended, Refusal } from './refusal.ts';

export type Source = {
  /** What the name means to git, and what a branch and a tag of that name are; null: there is none. */
  readonly id: string | null;
  readonly branch: string | null;
  readonly tag: string | null;
};

export type Facts = {
  readonly gitDir: string;
  readonly format: ObjectFormat;
  /** Full name of the branch that HEAD is, null when it is none. */
  readonly head: string | null;
  /** Upstream of that branch as configured: remote and full name there. */
  readonly upstream: { readonly remote: string; readonly merge: string } | null;
  /** Address that the repository itself has for the remote. */
  readonly url: string | null;
  /** refs/heads, refs/tags and refs/remotes/NAME: full name to id. */
  readonly refs: ReadonlyMap<string, string>;
  readonly shallow: readonly string[];
  readonly checkedOut: ReadonlySet<string>;
  readonly hasPrePush: boolean;
  readonly hasLfs: boolean;
  readonly sources: readonly Source[];
};

// Arguments: git, the remote's name, then the sources. Each line of output begins with a word of ours.
const script = String.raw`
git=$1 remote=$2; shift 2
facts=$("$git" rev-parse --path-format=absolute --git-dir --show-object-format \
  --git-path shallow --git-path hooks/pre-push --git-path lfs/objects) || exit $?
{ read -r gitdir; read -r format; read -r shallow; read -r hook; read -r lfs; } <<END
$facts
END
echo "gitdir $gitdir"
echo "format $format"
head=$("$git" symbolic-ref -q HEAD) && echo "head $head"
"$git" config --get-regexp '^(branch\..*\.(merge|remote)|remote\..*\.url)$' | sed 's/^/key /'
[ -f "$shallow" ] && head -c 4000000 "$shallow" | sed 's/^/shallow /'
[ -x "$hook" ] && echo 'hook pre-push'
[ -d "$lfs" ] && echo 'lfs yes'
"$git" worktree list --porcelain 2>/dev/null | sed -n 's/^branch /checkedout /p'
"$git" for-each-ref --format='ref %(objectname) %(refname)' refs/heads refs/tags "refs/remotes/$remote"
at=0
for source; do
  echo "source $at $("$git" rev-parse -q --verify --end-of-options "$source" 2>/dev/null)"
  at=$((at + 1))
done
exit 0
`;

/**
 * @param sources names as written in refspecs; none begins with `-`
 * @throws Ended with git's own words when there is no repository; Refusal for answers that no git gives
 */
export async function probe(context: Context, remote: string, sources: readonly string[]): Promise<Facts> {
  const { call, host } = context;
  const command = ['/bin/sh', '-c', script, 'probe', call.binary.path, remote, ...sources];
  const result = await runBox(context, command, { maxBytes: 64 * 1024 * 1024 });
  if (result.exitCode !== 0) {
    host.write('stderr', result.stderr.toString('utf8'));
    throw new Ended(result);
  }
  return readFacts(result.stdout.toString('utf8'), remote, sources);
}

function readFacts(text: string, remote: string, names: readonly string[]): Facts {
  const values = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const at = line.indexOf(' ');
    if (at <= 0) continue;
    const word = line.slice(0, at);
    if (!values.has(word)) values.set(word, []);
    values.get(word)!.push(line.slice(at + 1));
  }
  const one = (word: string) => values.get(word)?.[0] ?? null;
  const gitDir = one('gitdir');
  const format = one('format');
  if (gitDir === null || !gitDir.startsWith('/') || (format !== 'sha1' && format !== 'sha256')) {
    throw new Refusal('the repository does not say where it is and how it names objects');
  }
  const said = one('head');
  const head = said !== null && said.startsWith('refs/heads/') && isRefName(said) ? said : null;
  const keys = new Map((values.get('key') ?? []).map((line) => pair(line)));
  const branch = head?.slice('refs/heads/'.length) ?? '';
  const merge = keys.get(`branch.${branch}.merge`) ?? '';
  const from = keys.get(`branch.${branch}.remote`);
  const refs = readRefs(values.get('ref') ?? []);
  return {
    gitDir,
    format,
    head,
    upstream: from !== undefined && isRefName(merge) ? { remote: from, merge } : null,
    url: keys.get(`remote.${remote}.url`) ?? null,
    refs,
    shallow: (values.get('shallow') ?? []).filter((id) => objectId.test(id)),
    checkedOut: new Set(values.get('checkedout')),
    hasPrePush: values.has('hook'),
    hasLfs: values.has('lfs'),
    sources: readSources(values.get('source') ?? [], names, refs),
  };
}

function pair(line: string): [string, string] {
  const at = line.indexOf(' ');
  return [line.slice(0, at), line.slice(at + 1)];
}

function readRefs(lines: readonly string[]): Map<string, string> {
  const refs = new Map<string, string>();
  for (const [id, name] of lines.map(pair)) if (objectId.test(id) && isRefName(name)) refs.set(name, id);
  return refs;
}

function readSources(
  lines: readonly string[],
  names: readonly string[],
  refs: ReadonlyMap<string, string>,
): Source[] {
  const ids = new Map(lines.map(pair));
  return names.map((name, at) => {
    const id = ids.get(String(at)) ?? '';
    return {
      id: objectId.test(id) ? id : null,
      branch: refs.get(`refs/heads/${name}`) ?? null,
      tag: refs.get(`refs/tags/${name}`) ?? null,
    };
  });
}

/** What a result should say about the repository that the guard did otherwise. */
export function describe(context: Context, facts: Facts, remote: { name: string; url: string }): void {
  if (facts.url !== null && facts.url !== remote.url) {
    context.notes.push(
      `'${remote.name}' is pinned to ${remote.url}; what the repository says about it was not used`,
    );
  }
}
