/** `git ls-remote` of a pinned address: nothing of the workspace takes part. */
import type { Context } from './box.ts';
import { parseOptions, type OptionTable } from './options.ts';
import { hostGit, openPrivate, route } from './private.ts';
import { Refusal } from './refusal.ts';
import { pinnedRemote } from './remotes.ts';

const carried = ['--heads', '--branches', '--tags', '--refs', '--quiet', '--exit-code', '--symref'];
const table: OptionTable = {
  ...Object.fromEntries(carried.map((flag) => [flag, { name: flag }])),
  '-h': { name: '--heads' },
  '-b': { name: '--branches' },
  '-t': { name: '--tags' },
  '-q': { name: '--quiet' },
  '--get-url': { name: 'get-url' },
  '--sort': { name: '--sort', value: 'required' },
};
const sortKey = /^-?(?:version:|v:)?(?:refname|objectname|version)(?::[a-z=0-9]+)?$/;

/** Runs `git ls-remote ARGS`. @returns the exit code of git. */
export async function lsRemote(context: Context, args: readonly string[]): Promise<number> {
  const { flags, positionals } = parseOptions('ls-remote', args, table);
  const [name, ...patterns] = positionals;
  const remote = pinnedRemote(name, context.call.guardOptions.remotes);
  if (flags.has('get-url')) {
    context.host.write('stdout', `${remote.url}\n`);
    return 0;
  }
  const sort = flags.get('--sort');
  if (sort !== undefined && (sort === true || !sortKey.test(sort)))
    throw new Refusal(`'--sort=${String(sort)}' is not carried over`);
  const kept = await openPrivate(context, 'sha1');
  const { url, protocols } = await route(context, remote);
  const words = [...flags.keys()].filter((flag) => carried.includes(flag));
  const argv = [
    'ls-remote',
    ...words,
    ...(sort === undefined ? [] : [`--sort=${sort}`]),
    '--',
    url,
    ...patterns,
  ];
  if (name === undefined && !flags.has('--quiet')) context.host.write('stderr', `From ${remote.url}\n`);
  const result = await hostGit(context, kept, argv, { protocols });
  context.host.write('stdout', result.stdout.toString('utf8'));
  context.host.write('stderr', result.stderr.toString('utf8').replaceAll(url, remote.url));
  return result.exitCode!;
}
