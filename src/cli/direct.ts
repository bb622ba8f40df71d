/** Commands that are to start at once, in their plain form: commander alone takes a quarter of the time that `exec` may. */

/** Begins such a command; its exit code, whatever becomes of it. Null where commander has to look at the words. */
export function direct(argv: readonly string[]): Promise<number> | null {
  const [command, name, dashes, ...rest] = argv;
  if (
    command !== 'exec' ||
    name === undefined ||
    name.startsWith('-') ||
    dashes !== '--' ||
    rest.length === 0
  )
    return null;
  return begin(argv, name, rest);
}

async function begin(argv: readonly string[], name: string, command: readonly string[]): Promise<number> {
  try {
    const { execute } = await import('../up/control/exec-client.ts');
    return await execute(process.env, { name, command, cwd: null });
  } catch (error) {
    return (await import('./program.ts')).failed(argv, error);
  }
}
