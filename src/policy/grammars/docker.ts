import { below, words, type BuiltIn } from './grammar.ts';

/** cobra and pflag; `run`, `exec` and their like stop at the image or the container. */
export const docker: BuiltIn = {
  subcommands: [
    ...words(`
      attach build commit cp create diff events exec export history images import info inspect kill
      load login logout logs pause port ps pull push rename restart rm rmi run save search start stats
      stop tag top unpause update version wait
    `),
    ...below('builder', 'build prune'),
    ...below(
      'buildx',
      `
      bake build create dial-stdio du history imagetools inspect install ls prune rm stop use
      uninstall version
    `,
    ),
    ...below('checkpoint', 'create ls list rm remove'),
    ...below(
      'compose',
      `
      attach build commit config convert cp create down events exec export images kill logs ls pause
      port ps publish pull push restart rm run scale start stats stop top unpause up version volumes
      wait watch
    `,
    ),
    ...below('config', 'create inspect ls list rm remove'),
    ...below(
      'container',
      `
      attach commit cp create diff exec export inspect kill logs ls list ps pause port prune rename
      restart rm remove run start stats stop top unpause update wait
    `,
    ),
    ...below('context', 'create export import inspect ls list rm remove show update use'),
    ...below('image', 'build history import inspect load ls list prune pull push rm remove save tag'),
    ...below('manifest', 'annotate create inspect push rm'),
    ...below('network', 'connect create disconnect inspect ls list prune rm remove'),
    ...below('node', 'demote inspect ls list promote ps rm remove update'),
    ...below('plugin', 'create disable enable inspect install ls list push rm remove set upgrade'),
    ...below('secret', 'create inspect ls list rm remove'),
    ...below('service', 'create inspect logs ls list ps rm remove rollback scale update'),
    ...below('stack', 'config deploy up ls list ps rm down remove services'),
    ...below('swarm', 'ca init join join-token leave unlock unlock-key update'),
    ...below('system', 'df dial-stdio events info prune'),
    ...below('trust', 'inspect revoke sign key signer'),
    ...below('volume', 'create inspect ls list prune rm remove update'),
  ],
  valueFlags: {
    run: words('-v --volume -w --workdir -e --env -u --user -p --publish --name --network'),
    logs: words('-n --tail --since --until'),
    exec: words('-e --env -u --user -w --workdir --env-file --detach-keys'),
    ps: words('-f --filter -n --last --format'),
  },
  stopsAtPositional: [
    ...['run', 'exec', 'create', 'container run', 'container exec', 'container create'],
    ...['compose run', 'compose exec'],
  ],
};
