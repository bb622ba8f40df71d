#!/usr/bin/env node
/** Entry: Node version, compile cache, then the command table. */
import { enableCompileCache } from './cli/compile-cache.ts';
import { cacheDir } from './paths.ts';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
const supported = (major === 22 && minor >= 18) || (major === 24 && minor >= 11) || major > 24;
if (supported) {
  // Node's own choice lies in /tmp, where another user could have laid code for us.
  enableCompileCache(`${cacheDir(process.env)}/compile`);
  // What is imported from here on is in that cache.
  await (await import('./cli/start.ts')).start(process.argv.slice(2));
} else {
  process.stderr.write(
    `wraptool: needs Node.js 22.18, 24.11 or newer, this is ${process.versions.node}: install a newer one (nodejs.org), or from a checkout run script/wraptool, which brings its own\n`,
  );
  process.exitCode = 2;
}
