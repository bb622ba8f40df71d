/** `git fetch`: the operator's repository asks the pinned remote; what is new goes into the workspace through the box. */
import { runBox, type Context } from './box.ts';
import { parseOptions, type OptionTable, type Parsed } from './options.ts';
import { fetchPinned, hostGit, known, mirrorOf, openPrivate, packFor, refsOf } from './private.ts';
import { describe, probe, type Facts } from './probe.ts';
import { isRefName, objectId, parseRefspec, shortName } from './refs.ts';
import { Ended, Refusal } from './refusal.ts';
import { pinnedRemote, type Pinned } from './remotes.ts';
import { abbreviate, updateLines, type Update } from './report.ts';

const table: OptionTable = {
  '--all': { name: 'all' },
  '--tags': { name: 'tags' },
  '-t': { name: 'tags' },
  '--no-tags': { name: 'no-tags' },
  '-n': { name: 'no-tags' },
  '--prune': { name: 'prune' },
  '-p': { name: 'prune' },
  '--no-prune': { name: 'no-prune' },
  '--force': { name: 'force' },
  '-f': { name: 'force' },
  '--dry-run': { name: 'dry-run' },
  '--quiet': { name: 'quiet' },
  '-q': { name: 'quiet' },
  '--verbose': { name: 'verbose' },
  '-v': { name: 'verbose' },
  '--atomic': { name: 'nothing' },
  '--progress': { name: 'nothing' },
  '--no-progress': { name: 'nothing' },
  '--no-auto-maintenance': { name: 'nothing' },
  '--no-auto-gc': { name: 'nothing' },
  '--no-recurse-submodules': { name: 'nothing' },
  '--no-write-fetch-head': { name: 'no-fetch-head' },
  '--write-fetch-head': { name: 'nothing' },
  '--jobs': { name: 'nothing', value: 'required' },
  '-j': { name: 'nothing', value: 'required' },
};

export type FetchRequest = {
  readonly remote: Pinned;
  /** Empty: all branches. */
  readonly refspecs: readonly string[];
  readonly tags: 'all' | 'follow' | 'none';
  readonly prune: boolean;
  readonly force: boolean;
  readonly dryRun: boolean;
  readonly quiet: boolean;
  readonly verbose: boolean;
  readonly fetchHead: boolean;
};

/** Runs `git fetch ARGS`. @returns the exit code of git. */
export async function fetch(context: Context, args: readonly string[]): Promise<number> {
  const parsed = parseOptions('fetch', args, table);
  const { remotes } = context.call.guardOptions;
  const { flags, positionals } = parsed;
  if (flags.has('all')) {
    if (positionals.length > 0) throw new Refusal("'git fetch --all' takes no remote");
    let code = 0;
    for (const name of Object.keys(remotes)) {
      if (!flags.has('quiet')) context.host.write('stdout', `Fetching ${name}\n`);
      code = Math.max(
        code,
        (await bring(context, request(parsed, pinnedRemote(name, remotes), []))).exitCode,
      );
    }
    if (Object.keys(remotes).length === 0) pinnedRemote(undefined, remotes);
    return code;
  }
  const [name, ...refspecs] = positionals;
  const { exitCode } = await bring(context, request(parsed, pinnedRemote(name, remotes), refspecs));
  return exitCode;
}

function request({ flags }: Parsed, remote: Pinned, refspecs: readonly string[]): FetchRequest {
  return {
    remote,
    refspecs,
    tags: flags.has('tags') ? 'all' : flags.has('no-tags') ? 'none' : 'follow',
    prune: flags.has('prune'),
    force: flags.has('force'),
    dryRun: flags.has('dry-run'),
    quiet: flags.has('quiet'),
    verbose: flags.has('verbose'),
    fetchHead: !flags.has('no-fetch-head'),
  };
}

/** A ref of the remote and where it goes; to: null is FETCH_HEAD alone. */
type Wanted = {
  readonly from: string;
  readonly id: string;
  readonly to: string | null;
  readonly force: boolean;
};

export type Brought = {
  readonly exitCode: number;
  readonly facts: Facts;
  /** The refs of the remote that were asked for, by full name. */
  readonly asked: readonly { readonly name: string; readonly id: string }[];
};

/** Fetches and delivers. What git would say is written to the outcome. */
export async function bring(context: Context, request: FetchRequest): Promise<Brought> {
  const { remote } = request;
  for (const text of request.refspecs) parseRefspec(text);
  const facts = await probe(context, remote.name, []);
  describe(context, facts, remote);
  const kept = await openPrivate(context, facts.format);
  const fetched = await fetchPinned(context, kept, remote, mirrorOf(remote), { prune: true });
  const extra = await fetchExtra(context, kept, request);
  const failed = fetched.exitCode !== 0 ? fetched : extra.failed;
  if (failed !== null) {
    context.host.write('stderr', failed.stderr.toString('utf8'));
    throw new Ended(failed);
  }
  const all = await refsOf(context, kept, `refs/remotes/${remote.name}`, `refs/tags-of/${remote.name}`);
  const below = (folder: string) => new Map([...all].filter(([name]) => name.startsWith(folder)));
  const [heads, tags] = [below('refs/remotes/'), below('refs/tags-of/')];
  const wanted = await choose(context, kept, request, facts, { heads, tags, extra: extra.ids });
  const updates = await judge(context, kept, request, facts, wanted, heads);
  if (!request.dryRun) await deliver(context, kept, request, facts, wanted, updates);
  if (!request.quiet) report(context, request, updates);
  const rejected = updates.some(({ line }) => line.flag === '!');
  return {
    exitCode: rejected ? 1 : 0,
    facts,
    asked: wanted.filter(({ asked }) => asked).map(({ from, id }) => ({ name: from, id })),
  };
}

type Kept = Awaited<ReturnType<typeof openPrivate>>;

/** Refs outside refs/heads and refs/tags (refs/pull/1/head), and objects by id, are asked for one by one. */
async function fetchExtra(context: Context, kept: Kept, { remote, refspecs }: FetchRequest) {
  const sources = refspecs
    .map((text) => parseRefspec(text).source)
    .filter(
      (source) => objectId.test(source) || (/^refs\/(?!heads\/|tags\/)/.test(source) && isRefName(source)),
    );
  const ids = new Map<string, string>();
  if (sources.length === 0) return { ids, failed: null };
  const folder = `refs/asked/${context.folder.slice(-16)}`;
  const named = sources.map((source, at) => `+${source}:${folder}/${at}`);
  const result = await fetchPinned(context, kept, remote, named, { prune: false });
  if (result.exitCode !== 0) return { ids, failed: result };
  const found = await refsOf(context, kept, folder);
  for (const [at, source] of sources.entries()) ids.set(source, found.get(`${folder}/${at}`)!);
  const lines = [...found.keys()].map((name) => `delete ${name}\n`);
  await hostGit(context, kept, ['update-ref', '--stdin'], { stdin: Buffer.from(lines.join('')) });
  return { ids, failed: null };
}

type Chosen = Wanted & { readonly asked: boolean };
type Found = {
  readonly heads: ReadonlyMap<string, string>;
  readonly tags: ReadonlyMap<string, string>;
  readonly extra: ReadonlyMap<string, string>;
};

async function choose(
  context: Context,
  kept: Kept,
  request: FetchRequest,
  facts: Facts,
  found: Found,
): Promise<Chosen[]> {
  const { remote, refspecs } = request;
  const prefix = `refs/remotes/${remote.name}/`;
  const branches = new Map(
    [...found.heads].map(([name, id]) => [`refs/heads/${name.slice(prefix.length)}`, id]),
  );
  const tags = new Map(
    [...found.tags].map(([name, id]) => [`refs/tags/${name.split('/').slice(3).join('/')}`, id]),
  );
  const chosen: Chosen[] = [];
  const track = (name: string) => `${prefix}${name.slice('refs/heads/'.length)}`;
  const specs =
    refspecs[0] === 'tag' ? refspecs.slice(1).map((name) => `refs/tags/${name}:refs/tags/${name}`) : refspecs;
  if (specs.length === 0) {
    for (const [name, id] of branches)
      chosen.push({ from: name, id, to: track(name), force: true, asked: false });
    const merge = facts.upstream?.remote === remote.name ? facts.upstream.merge : null;
    const id = merge === null ? undefined : branches.get(merge);
    if (merge !== null && id !== undefined)
      chosen.push({ from: merge, id, to: null, force: true, asked: true });
  }
  for (const text of specs) {
    const { force, source, target } = parseRefspec(text);
    const located = locate(source === '' ? 'HEAD' : source, { branches, tags, extra: found.extra });
    if (located === null) {
      context.host.write('stderr', `fatal: couldn't find remote ref ${source}\n`);
      throw new Ended({ exitCode: 128, signal: null });
    }
    const [from, id] = located;
    chosen.push({ from, id, to: null, force: true, asked: true });
    if (branches.has(from)) chosen.push({ from, id, to: track(from), force: true, asked: false });
    if (target !== null && target !== '') {
      const folder = from.startsWith('refs/tags/') ? 'refs/tags/' : 'refs/heads/';
      const to = target.startsWith('refs/') ? target : `${folder}${target.replace(/^heads\//, '')}`;
      if (!isRefName(to)) throw new Refusal(`'${target}' is not the name of a branch or tag`);
      if (!chosen.some((one) => one.to === to))
        chosen.push({ from, id, to, force: force || request.force, asked: false });
    }
  }
  for (const [name, id] of await tagsFor(context, kept, request, facts, tags, chosen)) {
    if (!chosen.some((one) => one.to === name))
      chosen.push({ from: name, id, to: name, force: request.force, asked: false });
  }
  return chosen;
}

type Remote = {
  readonly branches: ReadonlyMap<string, string>;
  readonly tags: ReadonlyMap<string, string>;
  readonly extra: ReadonlyMap<string, string>;
};

function locate(source: string, { branches, tags, extra }: Remote): [name: string, id: string] | null {
  for (const name of [source, `refs/${source}`, `refs/tags/${source}`, `refs/heads/${source}`]) {
    const id = branches.get(name) ?? tags.get(name) ?? extra.get(name);
    if (id !== undefined) return [name, id];
  }
  return null;
}

/** All tags, or those that point into what is brought, or none. */
async function tagsFor(
  context: Context,
  kept: Kept,
  request: FetchRequest,
  facts: Facts,
  tags: ReadonlyMap<string, string>,
  chosen: readonly Chosen[],
): Promise<[string, string][]> {
  if (request.tags === 'none') return [];
  const missing = [...tags].filter(([name, id]) => facts.refs.get(name) !== id);
  if (request.tags === 'all') return missing;
  // A tag that is there already stays as it is, as with git.
  const fresh = missing.filter(([name]) => !facts.refs.has(name));
  if (fresh.length === 0 || chosen.every(({ to }) => to === null)) return [];
  const tips = [...new Set(chosen.filter(({ to }) => to !== null).map(({ id }) => id))];
  const merged = await hostGit(
    context,
    kept,
    [
      'for-each-ref',
      '--format=%(refname)',
      ...tips.map((id) => `--merged=${id}`),
      `refs/tags-of/${request.remote.name}`,
    ],
    { maxBytes: 64 * 1024 * 1024 },
  );
  const reachable = new Set(merged.stdout.toString('utf8').split('\n'));
  return fresh.filter(([name]) =>
    reachable.has(`refs/tags-of/${request.remote.name}/${name.slice('refs/tags/'.length)}`),
  );
}

type Judged = { readonly line: Update; readonly to: string | null; readonly id: string | null };

async function judge(
  context: Context,
  kept: Kept,
  request: FetchRequest,
  facts: Facts,
  chosen: readonly Chosen[],
  heads: ReadonlyMap<string, string>,
): Promise<Judged[]> {
  const judged: Judged[] = [];
  for (const { from, id, to, force, asked } of chosen) {
    const source = shortName(from);
    if (to === null) {
      const kind = from.startsWith('refs/tags/') ? 'tag' : from.startsWith('refs/heads/') ? 'branch' : 'ref';
      const tracked = request.refspecs.length === 0;
      if (asked && !tracked)
        judged.push({ line: { flag: '*', summary: kind, from: source, to: 'FETCH_HEAD' }, to: null, id });
      continue;
    }
    const old = facts.refs.get(to);
    const line = await judgeOne(context, kept, { from, id, to, force }, old, facts);
    judged.push({ line, to: line.flag === '!' || line.flag === '=' ? null : to, id });
  }
  if (request.prune && request.refspecs.length === 0) {
    const prefix = `refs/remotes/${request.remote.name}/`;
    for (const name of facts.refs.keys()) {
      if (!name.startsWith(prefix) || name === `${prefix}HEAD` || heads.has(name)) continue;
      judged.push({
        line: { flag: '-', summary: '[deleted]', from: '(none)', to: shortName(name) },
        to: name,
        id: null,
      });
    }
  }
  return judged;
}

async function judgeOne(
  context: Context,
  kept: Kept,
  wanted: Wanted,
  old: string | undefined,
  facts: Facts,
): Promise<Update> {
  const names = { from: shortName(wanted.from), to: shortName(wanted.to!) };
  const isTag = wanted.to!.startsWith('refs/tags/');
  if (old === wanted.id) return { flag: '=', summary: '[up to date]', ...names };
  if (facts.checkedOut.has(wanted.to!) || wanted.to === facts.head) {
    return { flag: '!', summary: '[rejected]', ...names, reason: 'the branch is checked out' };
  }
  if (old === undefined) {
    const kind = isTag ? '[new tag]' : wanted.from.startsWith('refs/heads/') ? '[new branch]' : '[new ref]';
    return { flag: '*', summary: kind, ...names };
  }
  if (isTag) {
    return wanted.force
      ? { flag: 't', summary: '[tag update]', ...names }
      : { flag: '!', summary: '[rejected]', ...names, reason: 'would clobber existing tag' };
  }
  const [a, b] = [abbreviate(old), abbreviate(wanted.id)];
  const ancestor = await hostGit(context, kept, ['merge-base', '--is-ancestor', old, wanted.id]);
  if (ancestor.exitCode === 0) return { flag: ' ', summary: `${a}..${b}`, ...names };
  if (wanted.force) return { flag: '+', summary: `${a}...${b}`, ...names, reason: 'forced update' };
  return { flag: '!', summary: '[rejected]', ...names, reason: 'non-fast-forward' };
}

// Arguments: git, the pack or nothing. The first line of the input is the length of FETCH_HEAD in lines.
const deliverScript = String.raw`
git=$1 pack=$2
if [ -n "$pack" ]; then "$git" index-pack --stdin --fix-thin <"$pack" >/dev/null || exit $?; fi
read -r lines
if [ "$lines" -gt 0 ]; then
  # read takes one line and no more: the rest of the input is for update-ref.
  while [ "$lines" -gt 0 ]; do
    IFS= read -r line; printf '%s\n' "$line"; lines=$((lines - 1))
  done >"$("$git" rev-parse --git-path FETCH_HEAD)" || exit $?
fi
"$git" update-ref --stdin
`;

async function deliver(
  context: Context,
  kept: Kept,
  request: FetchRequest,
  facts: Facts,
  chosen: readonly Chosen[],
  updates: readonly Judged[],
): Promise<void> {
  const asked = chosen.filter((one) => one.asked);
  const wanted = [
    ...new Set([...asked, ...updates.filter(({ to }) => to !== null)].flatMap(({ id }) => id ?? [])),
  ];
  const there = await known(context, kept, new Set([...facts.refs.values(), ...facts.shallow]));
  const shallow = facts.shallow.filter((id) => there.has(id));
  const has = new Set([...facts.refs.values()].filter((id) => there.has(id)));
  const lacking = wanted.filter((id) => !has.has(id));
  const pack = lacking.length === 0 ? null : await packFor(context, kept, lacking, [...has], shallow);
  const head = request.fetchHead ? fetchHead(asked, request, facts) : [];
  const lines = updates.flatMap(({ to, id }) =>
    to === null ? [] : [id === null ? `delete ${to}` : `update ${to} ${id}`],
  );
  const input = [String(head.length), ...head, ...lines].map((line) => `${line}\n`).join('');
  if (pack === null && head.length === 0 && lines.length === 0) return;
  const command = ['/bin/sh', '-c', deliverScript, 'deliver', context.call.binary.path, pack ?? ''];
  const result = await runBox(context, command, { stdin: Buffer.from(input) });
  if (result.exitCode === 0) return;
  context.host.write('stderr', result.stderr.toString('utf8'));
  throw new Ended(result);
}

/** Lines as git writes them: id, not-for-merge or nothing, what it is. */
function fetchHead(asked: readonly Chosen[], { remote }: FetchRequest, facts: Facts): string[] {
  if (facts.head === null && asked.length === 0) return [];
  const address = remote.url.replace(/^([a-z]+:\/\/)[^/@]*@/, '$1').replace(/\.git$/, '');
  return asked.map(({ from, id }) => {
    const kind = from.startsWith('refs/tags/') ? 'tag' : from.startsWith('refs/heads/') ? 'branch' : '';
    return `${id}\t\t${kind === '' ? `'${from}'` : `${kind} '${shortName(from)}'`} of ${address}`;
  });
}

function report(context: Context, { remote, verbose }: FetchRequest, updates: readonly Judged[]): void {
  const lines = updates.map(({ line }) => line).filter(({ flag }) => verbose || flag !== '=');
  if (lines.length === 0) return;
  const address = remote.url.replace(/^([a-z]+:\/\/)[^/@]*@/, '$1').replace(/\.git$/, '');
  context.host.write('stderr', `From ${address}\n${updateLines(lines, true)}`);
}
