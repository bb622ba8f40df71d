/** Refused calls by their seq: what a request that names one is made exactly as wide as. */
import { linesOf } from '../log/chain.ts';
import { logFiles, pathOf } from '../log/files.ts';
import { parseRecord } from '../log/record.ts';

export type RefusedCall = {
  readonly tool: string;
  readonly argv: readonly string[];
  readonly cwd: string | null;
};

export interface RefusedCalls {
  remember(seq: string, call: RefusedCall): void;
  /** Also one that another gateway of this session refused, if its argv was kept whole. */
  find(seq: string): Promise<RefusedCall | null>;
}

const mostRemembered = 256;
const mostChars = 4096;
/** Reading a file of the log is work that a client must not be able to order at will. */
const restMs = 2_000;

export function createRefusedCalls(dir: string, session: string | null): RefusedCalls {
  const known = new Map<string, RefusedCall>();
  let lastRead = -Infinity;
  return {
    remember(seq, call) {
      if (call.argv.reduce((sum, word) => sum + word.length, 0) > mostChars) return;
      known.set(seq, call);
      if (known.size > mostRemembered) known.delete(known.keys().next().value as string);
    },
    async find(seq) {
      const found = known.get(seq);
      if (found) return found;
      if (performance.now() - lastRead < restMs) return null;
      lastRead = performance.now();
      const file = seq.slice(0, seq.lastIndexOf(':'));
      return (await logFiles(dir)).includes(file) ? readRefused(dir, file, seq, session) : null;
    },
  };
}

async function readRefused(
  dir: string,
  file: string,
  seq: string,
  session: string | null,
): Promise<RefusedCall | null> {
  const mark = `"event":"decided","call":${JSON.stringify(seq)},"decision":"deny"`;
  for await (const { line } of linesOf(pathOf(dir, file))) {
    const record = line.includes(mark) ? parseRecord(line) : null;
    if (record?.event !== 'decided' || record.session !== session) continue;
    // A word that was scrubbed is not the one that was sent.
    if (record.argv === null || record.argv_cut || record.argv.some((word) => word.includes('[redacted:')))
      return null;
    return { tool: record.tool, argv: record.argv, cwd: record.cwd };
  }
  return null;
}
