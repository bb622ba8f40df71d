/**
 * Dead man's guard: processes inside that hold on to a stream of ours. When this process ends in whatever way, the engine
 * closes the stream: the harness is asked to end, and a second later everything in the container is killed, with it the
 * container.
 */
import type { ContainerCommands } from './container-commands.ts';

// As the harness's user: the harness may break it, and then only misses the polite word.
const ask = 'while read -r _; do :; done; kill -TERM -1';
// As the keeper, whom the harness can neither stop nor kill. Without its main process the container ends.
// It first tells the main process that it is there (devcontainer/Dockerfile). In a trap: a shell that cannot fork any
// more, for all that the harness started, ends at the pause.
const kill = "trap 'kill -KILL -1' EXIT; kill -USR1 -1; while read -r _; do :; done; sleep 1";

/** `broken`: called if the keeper's guard ends, or nothing can be told of it: the container is no longer guarded then. */
export async function postGuard(
  commands: Pick<ContainerCommands, 'open' | 'end'>,
  users: { harness: string; keeper: string },
  broken: (why: unknown) => void,
): Promise<void> {
  const options = { env: { PATH: '/usr/local/bin:/usr/bin:/bin' }, cwd: '/', tty: false };
  const [polite, keeper] = await Promise.all([
    commands.open(['/bin/sh', '-c', ask], { ...options, user: users.harness }),
    commands.open(['/bin/sh', '-c', kill], { ...options, user: users.keeper }),
  ]);
  for (const { stream } of [polite, keeper]) {
    // Its end is told by the engine's event; the stream is only there to be held.
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') throw error;
    });
    stream.resume();
  }
  void commands.end(keeper).then(() => broken(undefined), broken);
}
