/** WRAPTOOL_RESTART_HOOK: a reference that the host resolves, never a command line. */

export const restartHookEnv = 'WRAPTOOL_RESTART_HOOK';

export type Hook = { readonly kind: 'session' } | { readonly kind: 'systemd'; readonly unit: string };

/** A unit's name as systemd takes it: no blank, no path, no option, nothing that a shell would read. */
const unitShape = /^[A-Za-z0-9][A-Za-z0-9@._:-]{0,199}$/;

/** The hook, or null for anything else: absent, empty, or what looks like a command line. */
export function parseHook(value: string | undefined): Hook | null {
  if (value === 'session') return { kind: 'session' };
  const unit = value?.startsWith('systemd:') === true ? value.slice('systemd:'.length) : undefined;
  return unit !== undefined && unitShape.test(unit) ? { kind: 'systemd', unit } : null;
}
