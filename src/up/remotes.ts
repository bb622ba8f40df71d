/** Which remotes the gateway's git may talk to: the config's, or those that the operator confirmed for this workspace. */
import type { Config } from '../config/types.ts';
import { discoverRemotes } from '../executor/guards/git/discover.ts';
import { recall, remember } from './memory.ts';
import type { SessionState } from './session.ts';

type Remotes = Readonly<Record<string, string>>;

/** Asks a yes-or-no question on the operator's terminal. */
export type Ask = (question: string) => Promise<boolean>;

type World = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly ask: Ask | null;
  note(text: string): void;
};

/** Remotes pinned for the session. What the repository says counts only after the operator has confirmed it. */
export async function confirmRemotes(
  world: World,
  workspace: string,
  shared: SessionState['shared'],
  config: Config,
): Promise<Remotes> {
  const guarded = Object.entries(config.tools).filter(([, tool]) => tool.guard === 'git');
  if (guarded.length === 0) return {};
  const known = (await recall(world.env, workspace)).remotes ?? {};
  const found = await discoverRemotes(workspace, shared);
  const fresh = Object.entries(found).filter(
    ([name, url]) => known[name] !== url && !guarded.some(([, tool]) => name in tool.remotes),
  );
  if (fresh.length === 0) return known;
  const list = fresh.map(([name, url]) => `${name} = ${url}`).join(', ');
  if (world.ask === null) {
    world.note(
      `not pinned, so nothing can be pushed or fetched: ${list} (confirm on a terminal, or set tools.NAME.remotes)`,
    );
    return known;
  }
  if (!(await world.ask(`may the agent's git talk to ${list}?`))) return known;
  const remotes = { ...known, ...Object.fromEntries(fresh) };
  await remember(world.env, workspace, { remotes });
  return remotes;
}
