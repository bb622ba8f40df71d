/** What may be claimed of a session's gateway, from its folder and the operator's state: the same for all who ask. */
import { health, type Health } from '../restart/health.ts';
import { markersOf } from '../restart/store.ts';
import { isAlive } from '../supervise/process.ts';
import type { Session } from './session.ts';

type Env = Readonly<Record<string, string | undefined>>;

export async function sessionHealth(env: Env, session: Session): Promise<Health> {
  const { name, proof = null } = session.state;
  return health({
    namespace: name,
    down: await whyDown(session),
    proof,
    quiescing: session.state.quiescing === true,
    markers: await markersOf(env, name),
  });
}

async function whyDown({ state: { gateway, gatewayFault, status } }: Session): Promise<string | null> {
  if (gatewayFault !== null) return `the gateway ended (${gatewayFault})`;
  if (gateway === null) return status === 'starting' ? 'there is no gateway yet' : 'there is no gateway';
  return (await isAlive(gateway)) ? null : 'the gateway ended';
}

/** What a living session does, or what is wrong with it, in a few words. */
export function sessionStatus({ state: { gateway, gatewayFault, status } }: Session, health: Health): string {
  const contaminated = health.reasons.some((reason) => reason.startsWith('contaminated'));
  const said =
    gatewayFault !== null
      ? `gateway ended (${gatewayFault})`
      : gateway !== null && health.reasons.includes('the gateway ended')
        ? 'gateway ended'
        : status;
  if (contaminated) return `${said}, contaminated`;
  return status === 'running' && said === status && health.status !== 'clean' ? health.status : said;
}
