/** Waits until a condition gives something else than null or false; throws with `what` after the time. */
export async function until<T>(
  what: string,
  ask: () => T | Promise<T>,
  ms = 15_000,
): Promise<NonNullable<T>> {
  const end = Date.now() + ms;
  for (;;) {
    const found = await ask();
    if (found !== null && found !== undefined && found !== false) return found;
    if (Date.now() > end) throw new Error(`not within ${ms} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
