/** Help text to subcommands and flags: one pass over its lines, whose cost grows with their length alone. */
import { columnsOf } from './columns.ts';
import { flagsOfEntries, mend } from './flags.ts';
import { Reader } from './reader.ts';
import { programOfList } from './program.ts';
import { toLines } from './text.ts';
import type { Help } from './types.ts';
import { findUsage } from './usage.ts';
import { readUsage } from './usage-read.ts';

/** Never throws; what is beyond the bounds of text.ts is not read. */
export function parseHelp(text: string): Help {
  const lines = toLines(text);
  const usage = findUsage(lines);
  const read = readUsage(usage);
  const listed = usage.forms.length === 0 ? programOfList(lines) : null;
  const facts = listed === null ? read : { ...read, program: [listed] };
  const reader = new Reader(facts, columnsOf(lines));
  for (let index = 0; index < lines.length; index++) if (!usage.taken.has(index)) reader.take(lines, index);
  const flags = mend(reader.flags());
  const subcommands = reader.commands();
  if (subcommands.size === 0) for (const name of facts.subcommands) subcommands.set(name, '');
  return { subcommands: toRecord(subcommands), flags: flagsOfEntries(flags, facts.flags) };
}

/** `__proto__` may be a command's name. */
function toRecord(entries: ReadonlyMap<string, string>): Record<string, string> {
  return Object.fromEntries(entries);
}
