/**
 * A session's address, which outlives its gateways. Each gateway listens on a socket of its own; the address is a second
 * name of the current one's. Giving it to another gateway is one rename: whoever connects reaches the one or the other.
 */
import { link, rename, rm } from 'node:fs/promises';

/** `own`: a listening socket. `address`: the name that clients connect to, in a folder of the same file system. */
export async function takeAddress(own: string, address: string): Promise<void> {
  const aside = `${address}.next`;
  await rm(aside, { force: true });
  await link(own, aside);
  await rename(aside, address);
}
