/** `git push`: the objects come out of the box, and exactly those are pushed from the operator's repository. */
import { runBox, type Context } from './box.ts';
import { parseOptions, type OptionTable, type Parsed } from './options.ts';
import { dropImports, hostGit, importObjects, mustGit, openForCall, openPrivate, route } from './private.ts';
import { describe, probe, type Facts, type Source } from './probe.ts';
import { fullName, isRefName, objectId, parseRefspec, shortName, type Refspec } from './refs.ts';
import { Ended, Refusal } from './refusal.ts';
import { pinnedRemote, type Pinned } from './remotes.ts';
import { readPorcelain, shown, updateLines } from './report.ts';

const table: OptionTable = {
  '--set-upstream': { name: 'set-upstream' },
  '-u': { name: 'set-upstream' },
  '--dry-run': { name: 'dry-run' },
  '-n': { name: 'dry-run' },
  '--force': { name: 'force' },
  '-f': { name: 'force' },
  '--force-with-lease': { name: 'lease', value: 'optional' },
  '--delete': { name: 'delete' },
  '-d': { name: 'delete' },
  '--tags': { name: 'tags' },
  '--all': { name: 'all' },
  '--branches': { name: 'all' },
  '--atomic': { name: 'atomic' },
  '--no-atomic': { name: 'nothing' },
  '--porcelain': { name: 'porcelain' },
  '--quiet': { name: 'quiet' },
  '-q': { name: 'quiet' },
  '--verbose': { name: 'verbose' },
  '-v': { name: 'verbose' },
  '--progress': { name: 'nothing' },
  '--no-progress': { name: 'nothing' },
  '--no-verify': { name: 'no-verify' },
  '--verify': { name: 'nothing' },
  '--thin': { name: 'nothing' },
  '--no-thin': { name: 'nothing' },
  '--no-signed': { name: 'nothing' },
  '--no-follow-tags': { name: 'nothing' },
  '--no-recurse-submodules': { name: 'nothing' },
};

/** One ref of the remote to change; source: null is a deletion. */
type Change = {
  readonly source: { readonly id: string; readonly shown: string; readonly branch: string | null } | null;
  readonly target: string;
  readonly force: boolean;
};

/** Runs `git push ARGS`. @returns the exit code of git. */
export async function push(context: Context, args: readonly string[]): Promise<number> {
  const parsed = parseOptions('push', args, table);
  const { flags, positionals } = parsed;
  const [name, ...texts] = positionals;
  const remote = pinnedRemote(name, context.call.guardOptions.remotes);
  const specs = refspecsOf(texts, parsed);
  const facts = await probe(
    context,
    remote.name,
    specs.map(({ source }) => (source === '@' ? 'HEAD' : source)),
  );
  describe(context, facts, remote);
  const changes = await changesOf(context, parsed, specs, facts, remote);
  const ids = [...new Set(changes.flatMap(({ source }) => (source === null ? [] : [source.id])))];
  const kept = await openPrivate(context, facts.format);
  if (ids.length > 0) await importObjects(context, kept, facts.gitDir, ids, remote);
  const result = await send(context, kept, parsed, changes, facts, remote);
  if (ids.length > 0) await dropImports(context, kept, ids);
  if (!flags.has('dry-run')) await follow(context, kept, parsed, result.done, remote);
  if (facts.hasPrePush && !flags.has('no-verify')) context.notes.push('hooks skipped: pre-push');
  if (facts.hasLfs)
    context.notes.push('git lfs: its objects were not uploaded, only the pointers were pushed');
  return result.exitCode;
}

function refspecsOf(texts: readonly string[], { flags }: Parsed): Refspec[] {
  const words = texts[0] === 'tag' ? texts.slice(1).map((name) => `refs/tags/${name}`) : texts;
  const specs = words.map(parseRefspec);
  for (const { target } of specs) if (target !== null && target !== '') fullName(target, 'refs/heads/');
  if (!flags.has('delete')) return specs;
  if (specs.length === 0) throw new Refusal("'git push --delete' needs the names of what to delete");
  return specs.map(({ source, target }) => {
    if (target !== null)
      throw new Refusal(`'git push --delete' takes plain names, not '${source}:${target}'`);
    return { force: false, source: '', target: source };
  });
}

async function changesOf(
  context: Context,
  { flags }: Parsed,
  specs: readonly Refspec[],
  facts: Facts,
  remote: Pinned,
): Promise<Change[]> {
  const force = flags.has('force');
  const changes = new Map<string, Change>();
  const add = (change: Change) => {
    if (changes.has(change.target))
      throw new Refusal(`'${shortName(change.target)}' of the remote is named twice`);
    changes.set(change.target, change);
  };
  for (const [at, spec] of specs.entries())
    add(await changeOf(context, spec, facts.sources[at]!, facts, remote, force));
  for (const folder of [
    ...(flags.has('all') ? ['refs/heads/'] : []),
    ...(flags.has('tags') ? ['refs/tags/'] : []),
  ]) {
    for (const [name, id] of facts.refs) {
      if (name.startsWith(folder) && !changes.has(name)) add(wholeRef(name, id, force));
    }
  }
  if (specs.length === 0 && !flags.has('all') && !flags.has('tags'))
    add(currentBranch(context, facts, remote, flags, force));
  return [...changes.values()];
}

function wholeRef(name: string, id: string, force: boolean): Change {
  const branch = name.startsWith('refs/heads/') ? name : null;
  return { source: { id, shown: shortName(name), branch }, target: name, force };
}

/** As push.default=simple: the current branch to its own name, and only when it has an upstream of that name or gets one. */
function currentBranch(
  context: Context,
  facts: Facts,
  remote: Pinned,
  flags: Parsed['flags'],
  force: boolean,
): Change {
  const { head, upstream } = facts;
  const fail = (text: string): never => {
    context.host.write('stderr', text);
    throw new Ended({ exitCode: 128, signal: null });
  };
  if (head === null) return fail('fatal: You are not currently on a branch.\n');
  const id = facts.refs.get(head);
  const branch = shortName(head);
  if (id === undefined) return fail(`error: src refspec ${head} does not match any\n`);
  if (upstream === null && !flags.has('set-upstream')) {
    return fail(
      `fatal: The current branch ${branch} has no upstream branch.\nTo push the current branch and set the remote as upstream, use\n\n    git push --set-upstream ${remote.name} ${branch}\n\n`,
    );
  }
  if (upstream !== null && upstream.merge !== head && !flags.has('set-upstream')) {
    return fail(
      `fatal: The upstream branch of your current branch does not match\nthe name of your current branch.  To push to the branch of the same name\non the remote, use\n\n    git push ${remote.name} HEAD\n\n`,
    );
  }
  return wholeRef(head, id, force);
}

async function changeOf(
  context: Context,
  spec: Refspec,
  found: Source,
  facts: Facts,
  remote: Pinned,
  force: boolean,
): Promise<Change> {
  if (spec.source === '')
    return { source: null, target: await existing(context, spec.target!, facts, remote), force: false };
  const isHead = spec.source === 'HEAD' || spec.source === '@';
  const own = isHead ? facts.head : nameOf(context, spec.source, found);
  const id = found.id;
  if (id === null || (isHead && spec.target === null && own === null)) {
    const what = isHead ? 'HEAD is not a branch' : `src refspec ${spec.source} does not match any`;
    context.host.write('stderr', `error: ${what}\nerror: failed to push some refs to '${remote.url}'\n`);
    throw new Ended({ exitCode: 1, signal: null });
  }
  const target = targetOf(spec, own);
  const branch = own !== null && own.startsWith('refs/heads/') ? own : null;
  const sourceId = own === null ? id : (facts.refs.get(own) ?? id);
  return {
    source: { id: sourceId, shown: isHead ? 'HEAD' : shortName(spec.source), branch },
    target,
    force: force || spec.force,
  };
}

/** The full name of a source that is a branch or a tag. */
function nameOf(context: Context, source: string, { branch, tag }: Source): string | null {
  if (source.startsWith('refs/')) return isRefName(source) ? source : null;
  if (branch !== null && tag !== null) {
    context.host.write('stderr', `error: src refspec ${source} matches more than one\n`);
    throw new Ended({ exitCode: 1, signal: null });
  }
  if (branch !== null) return `refs/heads/${source}`;
  return tag === null ? null : `refs/tags/${source}`;
}

function targetOf({ source, target }: Refspec, own: string | null): string {
  if (target === null || target === '') {
    if (own !== null && /^refs\/(?:heads|tags)\//.test(own)) return own;
    throw new Refusal(`'${source}' is no branch or tag; say where it goes: '${source}:refs/heads/NAME'`);
  }
  return fullName(target, own !== null && own.startsWith('refs/tags/') ? 'refs/tags/' : 'refs/heads/');
}

/** Full name of a branch or tag of the remote, by a name that may be short. */
async function existing(context: Context, name: string, facts: Facts, remote: Pinned): Promise<string> {
  if (name === '') throw new Refusal('the refspec names nothing to delete');
  if (name.startsWith('refs/')) return fullName(name, 'refs/heads/');
  const candidates = [fullName(name, 'refs/heads/'), fullName(name, 'refs/tags/')];
  const kept = await openPrivate(context, facts.format);
  const { url, protocols } = await route(context, remote);
  const { stdout } = await mustGit(context, kept, ['ls-remote', '--', url, ...candidates], { protocols });
  const there = stdout
    .toString('utf8')
    .split('\n')
    .map((line) => line.split('\t')[1]);
  const found = candidates.filter((candidate) => there.includes(candidate));
  if (found.length === 2)
    throw new Refusal(
      `'${name}' is a branch and a tag of '${remote.name}'; write refs/heads/${name} or refs/tags/${name}`,
    );
  if (found.length === 0) {
    context.host.write(
      'stderr',
      `error: unable to delete '${name}': remote ref does not exist\nerror: failed to push some refs to '${remote.url}'\n`,
    );
    throw new Ended({ exitCode: 1, signal: null });
  }
  return found[0]!;
}

type Kept = Awaited<ReturnType<typeof openPrivate>>;
type Sent = { readonly exitCode: number; readonly done: readonly Change[] };

async function send(
  context: Context,
  kept: Kept,
  { flags, all }: Parsed,
  changes: readonly Change[],
  facts: Facts,
  remote: Pinned,
): Promise<Sent> {
  if (changes.length === 0) {
    if (!flags.has('quiet')) context.host.write('stderr', 'Everything up-to-date\n');
    return { exitCode: 0, done: [] };
  }
  const own = await openForCall(context, kept);
  const { push: url, protocols } = await route(context, remote);
  // Names that only this call's repository has: nothing can be read again and be another object.
  const names = changes.map(({ source, target }, at) =>
    source === null ? '' : sendName(source, target, at),
  );
  const created = new Map(
    changes.flatMap(({ source }, at) => (source === null ? [] : [[names[at]!, source.id]])),
  );
  const lines = [...created].map(([name, id]) => `create ${name} ${id}\n`);
  await mustGit(context, own, ['update-ref', '--stdin'], { stdin: Buffer.from(lines.join('')) });
  const argv = [
    'push',
    '--porcelain',
    ...['--no-verify', '--no-signed', '--no-follow-tags', '--no-recurse-submodules'],
    ...(flags.has('dry-run') ? ['--dry-run'] : []),
    ...(flags.has('atomic') ? ['--atomic'] : []),
    ...leases(all.get('lease') ?? [], changes, facts, remote),
    '--',
    url,
    ...changes.map(({ target, force }, at) => `${force ? '+' : ''}${names[at]!}:${target}`),
  ];
  const result = await hostGit(context, own, argv, { protocols });
  const said = result.stdout.toString('utf8');
  const errors = result.stderr.toString('utf8').replaceAll(url, remote.url);
  if (flags.has('porcelain')) {
    context.host.write('stdout', said.replaceAll(url, remote.url));
    context.host.write('stderr', errors);
  } else {
    show(context, changes, said, errors, flags, remote);
  }
  const refused = new Set(
    readPorcelain(said)
      .filter(({ flag }) => flag === '!')
      .map(({ to }) => to),
  );
  const reached = readPorcelain(said).map(({ to }) => to);
  return {
    exitCode: result.exitCode!,
    done: changes.filter(({ target }) => reached.includes(target) && !refused.has(target)),
  };
}

function sendName(source: NonNullable<Change['source']>, target: string, at: number): string {
  return source.branch ?? (target.startsWith('refs/tags/') ? target : `refs/heads/pushed-${at}`);
}

/** `--force-with-lease`: what the workspace last saw of each branch, or what the call says. */
function leases(
  given: readonly (string | true)[],
  changes: readonly Change[],
  facts: Facts,
  remote: Pinned,
): string[] {
  return given.flatMap((lease) => {
    const seen = (target: string) =>
      facts.refs.get(target.replace('refs/heads/', `refs/remotes/${remote.name}/`)) ?? '';
    if (lease === true) return changes.map(({ target }) => `--force-with-lease=${target}:${seen(target)}`);
    const [name, expected] = lease.split(/:(.*)/s, 2) as [string, string | undefined];
    const target = fullName(name, 'refs/heads/');
    if (expected !== undefined && expected !== '' && !objectId.test(expected)) {
      throw new Refusal(`'--force-with-lease=${lease}' must give the expected object by its whole id`);
    }
    return [`--force-with-lease=${target}:${expected ?? seen(target)}`];
  });
}

function show(
  context: Context,
  changes: readonly Change[],
  said: string,
  errors: string,
  flags: Parsed['flags'],
  remote: Pinned,
): void {
  const names = new Map(changes.map(({ source, target }) => [target, source?.shown ?? '']));
  const lines = readPorcelain(said)
    .filter(({ flag }) => flag !== '=' || flags.has('verbose'))
    .filter(({ flag }) => flag === '!' || !flags.has('quiet'))
    .map(({ flag, to, summary, reason }) => ({
      flag: flag as ' ',
      summary,
      from: flag === '-' ? '' : shown(names.get(to) ?? ''),
      to: shortName(to),
      reason,
    }));
  const last = errors.search(/^(?:error: failed to push|hint: )/m);
  const [before, after] = last === -1 ? [errors, ''] : [errors.slice(0, last), errors.slice(last)];
  const address = remote.url.replace(/^([a-z]+:\/\/)[^/@]*@/, '$1');
  const table = updateLines(lines, false).replaceAll('  -> ', ' ');
  const upToDate =
    said.includes('\n=\t') && lines.length === 0 && !flags.has('quiet') ? 'Everything up-to-date\n' : '';
  context.host.write(
    'stderr',
    `${before}${lines.length === 0 ? upToDate : `To ${address}\n${table}`}${after}`,
  );
}

// Arguments: git, then words of three: branch, remote, merge. The input is for update-ref.
const followScript = String.raw`
git=$1; shift
"$git" update-ref --stdin || exit $?
while [ $# -ge 3 ]; do
  "$git" config "branch.$1.remote" "$2" && "$git" config "branch.$1.merge" "$3" || exit $?
  shift 3
done
`;

/** What a push leaves behind: the remote-tracking branches, on both sides, and the upstream where it was asked for. */
async function follow(
  context: Context,
  kept: Kept,
  { flags }: Parsed,
  done: readonly Change[],
  remote: Pinned,
): Promise<void> {
  const branches = done.filter(({ target }) => target.startsWith('refs/heads/'));
  if (branches.length === 0) return;
  const track = (target: string) => target.replace('refs/heads/', `refs/remotes/${remote.name}/`);
  const lines = branches.map(({ source, target }) =>
    source === null ? `delete ${track(target)}\n` : `update ${track(target)} ${source.id}\n`,
  );
  const input = Buffer.from(lines.join(''));
  await mustGit(context, kept, ['update-ref', '--stdin'], { stdin: input });
  const upstream = flags.has('set-upstream') ? branches.filter(({ source }) => source?.branch != null) : [];
  const words = upstream.flatMap(({ source, target }) => [shortName(source!.branch!), remote.name, target]);
  const command = ['/bin/sh', '-c', followScript, 'follow', context.call.binary.path, ...words];
  const result = await runBox(context, command, { stdin: input });
  if (result.exitCode !== 0) {
    context.host.write('stderr', result.stderr.toString('utf8'));
    context.notes.push('pushed; the remote-tracking branch in the workspace could not be written');
    return;
  }
  for (const { source, target } of upstream) {
    context.host.write(
      'stdout',
      `branch '${shortName(source!.branch!)}' set up to track '${remote.name}/${shortName(target)}'.\n`,
    );
  }
}
