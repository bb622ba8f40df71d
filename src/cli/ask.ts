/** Yes or no of the operator, asked on the terminal of stdin and stderr. */
import { createInterface } from 'node:readline/promises';
import { escapeHostile } from './hostile.ts';

export function canAsk(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY;
}

export async function ask(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await terminal.question(`${escapeHostile(question)} [y/N] `)).trim());
  } finally {
    terminal.close();
  }
}
