import type { Command } from 'commander';
import { reclaimDead, viewSessions, type SessionView } from '../../up/sessions.ts';
import { escapeHostile } from '../hostile.ts';
import { note, printJson, printLine, table, warn } from '../voice.ts';

export function register(program: Command): void {
  program
    .command('ps')
    .description('list sessions, and reclaim what dead ones left')
    .option('--json', 'as JSON')
    .action(async (flags: { json?: boolean }) => {
      const reclaimed = await reclaimDead(process.env, ({ message, hint }) => {
        warn(hint === undefined ? message : `${message} (${hint})`);
        process.exitCode = 1;
      });
      for (const line of reclaimed) note(line);
      const sessions = await viewSessions(process.env);
      if (flags.json) printJson({ sessions, reclaimed });
      else
        printLine(
          table([['NAME', 'HARNESS', 'RUNTIME', 'STATUS', 'AGE', 'WORKSPACE'], ...sessions.map(row)]),
        );
    });
}

function row(session: SessionView): string[] {
  return [
    session.name,
    session.harness,
    session.runtime,
    session.status,
    age(session.created),
    escapeHostile(session.workspace),
  ];
}

function age(created: string): string {
  const seconds = Math.max(0, Math.round((Date.now() - Date.parse(created)) / 1000));
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)}m`;
  return `${Math.round(seconds / 3600)}h`;
}
