#!/usr/bin/env node
/** Entry: Node version, compile cache, then the command table. The only place that sets the exit code. */
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
const supported = (major === 22 && minor >= 18) || (major === 24 && minor >= 11) || major > 24;
if (supported) {
  const [{ cacheDir }, { enableCompileCache }] = await Promise.all([
    import('./paths.ts'),
    import('./cli/compile-cache.ts'),
  ]);
  // Node's own choice lies in /tmp, where another user could have laid code for us.
  enableCompileCache(`${cacheDir(process.env)}/compile`);
  const argv = process.argv.slice(2);
  // Begun first: the rest is loaded while another process is at work for it.
  const begun = (await import('./cli/direct.ts')).direct(argv);
  const { watchOutput } = await import('./cli/output.ts');
  const output = watchOutput();
  process.exitCode = begun === null ? await (await import('./cli/program.ts')).run(argv) : await begun;
  process.once('exit', (code) => {
    if (output.fault === null) return;
    process.stderr.write(`error: the output could not be written: ${output.fault.message}\n`);
    if (code === 0) process.exitCode = 1;
  });
} else {
  process.stderr.write(
    `wraptool: needs Node.js 22.18, 24.11 or newer, this is ${process.versions.node}: install a newer one (nodejs.org), or from a checkout run script/wraptool, which brings its own\n`,
  );
  process.exitCode = 2;
}
