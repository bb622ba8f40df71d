/** Whether this session may be restarted: by what its supervisor was started with, and by nothing that comes later. */
import { isAuthorized, operatorAuthorizationEnv } from '../restart/gate.ts';
import { parseHook, restartHookEnv } from '../restart/hook.ts';
import type { Arming } from './control/restart-server.ts';

/** `allow`: as if the operator had set both variables, the hook to this supervisor. */
export function armingOf(env: Readonly<Record<string, string | undefined>>, allow: boolean): Arming {
  if (allow) return { operatorAuthorization: '1', hook: 'session' };
  return { operatorAuthorization: env[operatorAuthorizationEnv], hook: env[restartHookEnv] };
}

/** For the operator, when a session starts. */
export function armed({ operatorAuthorization, hook }: Arming): string {
  if (!isAuthorized(operatorAuthorization)) return 'restart: not armed (--allow-restart arms it)';
  return parseHook(hook) === null
    ? `restart: not armed: ${restartHookEnv} is not set, or is no reference`
    : 'restart: armed';
}
