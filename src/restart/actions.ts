/** The one table of what may be done to a gateway and its policy, and who may do it; for the CLI and the web page alike. */

export type Role = 'viewer' | 'operator';

export type Action = {
  readonly id: string;
  /** The least role; null where no role is enough. */
  readonly required_role: Role | null;
  /** `read` changes nothing, `decision` changes what is allowed, `lifecycle` ends or replaces a process. */
  readonly action_class: 'read' | 'decision' | 'lifecycle' | 'unknown';
  /** A second person has to agree. */
  readonly dual_control: boolean;
  /** Only ever in an emergency, and said so. */
  readonly break_glass: boolean;
};

const one = (id: string, required_role: Role, action_class: Action['action_class']): Action => ({
  id,
  required_role,
  action_class,
  dual_control: false,
  break_glass: false,
});

export const actions: readonly Action[] = [
  one('system.restart_namespace', 'operator', 'lifecycle'),
  one('system.reload_namespace', 'operator', 'lifecycle'),
  one('system.reconcile_namespace', 'operator', 'lifecycle'),
  one('system.read_namespaces', 'viewer', 'read'),
  one('requests.read', 'viewer', 'read'),
  one('requests.approve', 'operator', 'decision'),
  one('requests.deny', 'operator', 'decision'),
  one('grants.read', 'viewer', 'read'),
  one('grants.revoke', 'operator', 'decision'),
  one('policy.read', 'viewer', 'read'),
  one('policy.edit', 'operator', 'decision'),
];

/** The action of that name. An unknown one is nobody's, and has every flag that could hold it back. */
export function actionOf(id: string): Action {
  return (
    actions.find((action) => action.id === id) ?? {
      id,
      required_role: null,
      action_class: 'unknown',
      dual_control: true,
      break_glass: true,
    }
  );
}

const ranks: Readonly<Record<Role, number>> = { viewer: 1, operator: 2 };

/** Whether a role is enough for an action. */
export function mayDo(role: Role | null, action: Action): boolean {
  return role !== null && action.required_role !== null && ranks[role] >= ranks[action.required_role];
}
