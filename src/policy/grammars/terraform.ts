import { below, words, type BuiltIn } from './grammar.ts';

/** The flag package again; `-chdir` and every optional value only attached. */
export const terraform: BuiltIn = {
  options: 'single-dash',
  longValues: 'attached',
  subcommands: [
    ...words(`
      apply console destroy fmt force-unlock get graph import init login logout modules output plan
      query refresh show taint test untaint validate version
    `),
    ...below('state', 'list mv pull push replace-provider rm show identities'),
    ...below('workspace', 'delete list new select show'),
    ...below('providers', 'lock mirror schema'),
    ...below('metadata', 'functions'),
    ...below('env', 'delete list new select show'),
  ],
  valueFlags: {
    '': words(`
        -var -var-file -target -replace -out -state -state-out -backup -parallelism -lock-timeout
        -backend-config -plugin-dir -generate-config-out -from-module -chdir
      `),
  },
};
