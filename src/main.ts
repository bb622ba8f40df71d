#!/usr/bin/env node
/** Entry: Node version, compile cache, then the command table. The only place that sets the exit code. */
import module from 'node:module';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
const supported = (major === 22 && minor >= 18) || (major === 24 && minor >= 11) || major > 24;
if (supported) {
  module.enableCompileCache?.();
  const { run } = await import('./cli/program.ts');
  process.exitCode = await run(process.argv.slice(2));
} else {
  process.stderr.write(
    `wraptool: needs Node.js 22.18, 24.11 or newer, this is ${process.versions.node}: install a newer one (nodejs.org), or from a checkout run script/wraptool, which brings its own\n`,
  );
  process.exitCode = 2;
}
