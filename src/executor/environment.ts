import { WraptoolError } from '../errors.ts';

/** PATH of every child, whatever PATH the host process has. */
export const childPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/**
 * The whole environment of a child, from nothing: three fixed variables and what the operator configured. No
 * variable of the host process gets in, and a call can add none.
 * Throws config_invalid for a name or value that no environment can hold, and for a PATH that depends on the cwd.
 */
export function childEnvironment(options: {
  readonly home: string;
  readonly configured: Readonly<Record<string, string>>;
}): Readonly<Record<string, string>> {
  const env: Record<string, string> = Object.create(null);
  const fixed = { PATH: childPath, HOME: options.home, LANG: 'C.UTF-8' };
  for (const [name, value] of Object.entries({ ...fixed, ...options.configured })) {
    check(name, value);
    env[name] = value;
  }
  return Object.freeze(env);
}

function check(name: string, value: string): void {
  if (name === '' || /[=\0]/.test(name)) {
    throw new WraptoolError('config_invalid', `'${name}' can't be the name of an environment variable`);
  }
  if (value.includes('\0')) {
    throw new WraptoolError('config_invalid', `the environment variable '${name}' has a NUL character`);
  }
  if (name !== 'PATH') return;
  const relative = value.split(':').find((entry) => !entry.startsWith('/'));
  if (relative === undefined) return;
  throw new WraptoolError(
    'config_invalid',
    `PATH has the entry '${relative}', which depends on the working directory`,
    {
      hint: 'write absolute folders only',
    },
  );
}
