import { below, words, type BuiltIn } from './grammar.ts';

/**
 * nopt: any number of dashes, abbreviations, `--no-x`; a bare boolean takes a following true, false or null, and
 * some of them any word (those are listed as taking values).
 */
export const npm: BuiltIn = {
  subcommands: [
    ...words(`
      access adduser audit bugs ci completion dedupe deprecate diff docs doctor edit exec explain
      explore find-dupes fund help help-search init install link ll login logout ls outdated pack ping
      prefix prune publish query rebuild repo restart root run sbom search shrinkwrap star stars start
      stop test undeprecate uninstall unpublish unstar update version view whoami
    `),
    ...below('config', 'set get delete list ls edit fix'),
    ...below('cache', 'add clean verify ls npx'),
    ...below('access', 'list get set grant revoke'),
    ...below('dist-tag', 'add rm ls'),
    ...below('hook', 'add ls rm update'),
    ...below('org', 'set rm ls'),
    ...below('owner', 'add rm ls'),
    ...below('pkg', 'set get delete fix'),
    ...below('profile', 'enable-2fa disable-2fa get set'),
    ...below('team', 'create destroy add rm ls'),
    ...below('token', 'list revoke create'),
    ...below('audit', 'fix signatures'),
  ],
  valueFlags: {
    '': words(`
        --loglevel --prefix -C --depth --registry --userconfig --globalconfig --cache --script-shell
        --git --node-options --location -L --workspace -w --omit --include --tag --otp --access
        --before --maxsockets --fetch-retries --scope --package --call -c --editor --shell --viewer
        --install-strategy --init-module --cpu --os --searchlimit --auth-type --audit-level --umask
        --user-agent --browser --color --message -m
      `),
  },
  swallowed: words('true false null always'),
  looseDashes: true,
};
