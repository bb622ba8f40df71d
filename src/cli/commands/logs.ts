import type { Command } from 'commander';
import { openLogs, type LogLine } from '../../up/logs.ts';
import { escapeHostile, escapeJson } from '../hostile.ts';
import { printJson, printLine } from '../voice.ts';
import { render } from './log.ts';

type Flags = { readonly follow?: boolean; readonly json?: boolean };

export function register(program: Command): void {
  program
    .command('logs')
    .description('show what happened in a session: its supervisor, its gateway, its calls')
    .argument('<name>', 'as in "wraptool ps"')
    .option('-f, --follow', 'go on until the session ends')
    .option('--json', 'as JSON, one record per line')
    .addHelpText('after', '\nCalls of sessions that have ended are in "wraptool log tail".')
    .action(logs);
}

async function logs(name: string, flags: Flags): Promise<void> {
  const log = await openLogs(process.env, name);
  const show = async (): Promise<void> => {
    for (const line of await log.poll())
      if (flags.json) printJson(asJson(line));
      else printLine(asText(line));
  };
  try {
    await show();
    while (flags.follow) {
      const what = await log.changed();
      await show();
      if (what === 'ended') return;
    }
  } finally {
    await log.close();
  }
}

function asJson(line: LogLine): unknown {
  if (line.source === 'gateway') return line;
  if (line.source === 'supervisor') return { source: line.source, ...line.event };
  return { source: line.source, seq: line.entry.seq, ...line.entry.record };
}

function asText(line: LogLine): string {
  if (line.source === 'calls') return render(line.entry);
  if (line.source === 'gateway') return `gateway: ${escapeHostile(line.text)}`;
  const { time, what, detail } = line.event;
  return `${time} ${what}${detail === undefined ? '' : ` ${escapeJson(JSON.stringify(detail))}`}`;
}
