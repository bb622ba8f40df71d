/** Whether this gateway's namespace is contaminated, as the operator's state says now: it is cleared while we run. */
import { WraptoolError } from '../errors.ts';
import { markersOf } from '../restart/store.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** Gives the reason, or null. A record that can't be read may hold a marker: that is a reason, too. */
export function contaminationOf(env: Env, namespace: string | null): () => Promise<string | null> {
  if (namespace === null) return async () => null;
  return async () => {
    try {
      const [marker] = await markersOf(env, namespace);
      if (marker === undefined) return null;
      return marker.reason === 'record_damaged'
        ? `whether "${namespace}" is contaminated can't be read`
        : `"${namespace}" is contaminated since ${marker.at}`;
    } catch (error) {
      if (!(error instanceof WraptoolError)) throw error;
      return `whether "${namespace}" is contaminated can't be read`;
    }
  };
}
