/** Shows a request on the terminal and asks what to do with it. */
import { createInterface } from 'node:readline/promises';
import { WraptoolError } from '../errors.ts';
import type { ScopeChoice } from '../requests/desk.ts';

export const onTerminal = (): boolean => process.stdin.isTTY && process.stdout.isTTY;

const answers: Readonly<Record<string, ScopeChoice>> = {
  o: { scope: 'once' },
  once: { scope: 'once' },
  s: { scope: 'session' },
  session: { scope: 'session' },
  a: { scope: 'apply' },
  apply: { scope: 'apply' },
};

/** The scope to approve with: that which was given, or which is chosen. Throws usage where it is not approved. */
export async function askScope(given: ScopeChoice | null): Promise<ScopeChoice> {
  const question =
    given === null
      ? 'approve: [o]nce, for the [s]ession, or [a]pply to the config? anything else leaves it pending: '
      : `approve (${given.scope})? [y/N] `;
  const answer = (await ask(question)).trim().toLowerCase();
  const chosen = given === null ? answers[answer] : /^y(es)?$/.test(answer) ? given : undefined;
  if (chosen) return chosen;
  throw new WraptoolError('usage', 'not approved', { hint: 'the request is still pending' });
}

/** An input that ends gives no answer, and no answer is no. */
async function ask(question: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  try {
    const ended = new Promise<string>((resolve) => lines.once('close', () => resolve('')));
    return await Promise.race([lines.question(question), ended]);
  } finally {
    lines.close();
  }
}
