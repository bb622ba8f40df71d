/** Restarts: what one would need and do, and asking for one. What is decided is the supervisor's. */
import { principalOfLogin } from '../../restart/principal.ts';
import { stringOf, type Route } from '../route.ts';

export const restartRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: /^restart$/,
    action: 'system.read_namespaces',
    run: ({ restarts }, { role, query }) =>
      restarts.preview(
        { namespace: query.get('namespace') ?? '', mode: query.get('mode') ?? 'restart' },
        principalOfLogin(role),
      ),
  },
  {
    method: 'POST',
    path: /^restart$/,
    action: 'system.restart_namespace',
    run: ({ restarts }, { role, body }) =>
      restarts.ask(
        {
          namespace: stringOf(body, 'namespace', 200),
          mode: stringOf(body, 'mode', 20),
          confirm: stringOf(body, 'confirm', 300),
        },
        principalOfLogin(role),
      ),
  },
];
