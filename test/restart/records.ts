/** What is on record of namespaces. */
import type { NamespaceRecord } from '../../src/restart/record.ts';
import { findNamespaces } from '../../src/restart/store.ts';

/** Those that can be read. */
export async function recordsOf(
  env: Readonly<Record<string, string | undefined>>,
): Promise<NamespaceRecord[]> {
  return (await findNamespaces(env)).flatMap((one) => ('record' in one ? [one.record] : []));
}
