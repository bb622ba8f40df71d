import { words, type BuiltIn } from './grammar.ts';

/** clap: clusters, attached and detached values, permutation; what follows `--` goes to another program. */
export const cargo: BuiltIn = {
  subcommands: [
    ...words(`
      add bench b build c check clean clippy d doc fetch fix fmt info generate-lockfile init install
      locate-project login logout metadata miri new owner package pkgid publish r remove rm run rustc
      rustdoc search t test
    `),
    ...[
      'tree',
      'uninstall',
      'update',
      'vendor',
      'version',
      'yank',
      'config get',
      'report future-incompatibilities',
    ],
  ],
  valueFlags: {
    '': words(`
        -p --package -j --jobs --target --target-dir --manifest-path -F --features --config -Z --color
        --profile --exclude --bin --example --bench --test -C
      `),
  },
  plusOptions: true,
  stopsAtPositional: ['run', 'r'],
};
