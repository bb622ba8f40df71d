/** `fj`: a program with subcommands whose help is known word by word. */
import * as fs from 'node:fs';
import path from 'node:path';
import type { World } from './support.ts';

export const help = `Usage: fj [OPTIONS] COMMAND

Commands:
  pr       manage pull requests
  issue    manage issues with correct-horse-battery
  nuke     destroy everything
  release  make releases

Options:
  -q, --quiet  say less
`;

/** A world in which `fj` is a script that prints `help` and leaves a line for each run that isn't confined. */
export function withForge(it: World, rules: string): void {
  const bin = path.join(it.dir, 'fj');
  fs.writeFileSync(
    bin,
    `#!/bin/sh\necho ran >> ${it.dir}/ran 2>/dev/null\n[ "$*" = --help ] || exit 9\ncat <<'END'\n${help}END\n`,
    { mode: 0o755 },
  );
  const config = fs.readFileSync(it.config, 'utf8');
  fs.writeFileSync(it.config, `${config}  fj:\n    binary: ${bin}\n    guard: none\n${rules}`);
}
