import { existsSync, watch } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import type { Command } from 'commander';
import { WraptoolError } from '../../errors.ts';
import { followNew, story, verifyLog } from '../../log/read.ts';
import { tailLog } from '../../log/tail.ts';
import type { Entry, LogRecord } from '../../log/record.ts';
import { escapeHostile, renderArgv } from '../hostile.ts';
import { printJson, printLine } from '../voice.ts';

type Where = { readonly config?: string; readonly dir?: string; readonly json?: boolean };

export function register(program: Command): void {
  const log = program.command('log').description('read and verify the log');
  const command = (name: string, text: string) =>
    log
      .command(name)
      .description(text)
      .option('--config <file>', 'config file that names the log')
      .option('--dir <folder>', 'folder of the log, instead of the config’s')
      .option('--json', 'as JSON, one record per line');
  command('tail', 'show the newest records')
    .option('-n, --lines <count>', 'how many', '20')
    .option('-f, --follow', 'go on with new ones')
    .action(tail);
  command('verify', 'check the chains: nothing changed, removed or put in between').action(verify);
  command('unused', 'list the allow rules that no call in the log used').action(unused);
  command('why <seq>', 'tell the story of one call: what was asked, what decided, how it ended').action(why);
}

/** The config's folder may be made yet; one that is named and not there is a mistake, and no log that holds. */
async function folder({ dir, config }: Where): Promise<string> {
  if (dir !== undefined) return existing(dir);
  const { loadConfig } = await import('../../config/load.ts');
  return (await loadConfig({ path: config, env: process.env })).config.requests.log;
}

function existing(dir: string): string {
  if (existsSync(dir)) return dir;
  throw new WraptoolError('usage', `there is no folder "${dir}"`, {
    hint: 'without --dir it is the folder that the config names',
  });
}

async function tail(flags: Where & { readonly lines: string; readonly follow?: boolean }): Promise<void> {
  const count = Number(flags.lines);
  if (!Number.isInteger(count) || count < 0)
    throw new WraptoolError('usage', `--lines takes a whole number, not '${flags.lines}'`);
  const dir = await folder(flags);
  const show = (entry: Entry) =>
    flags.json ? printJson({ seq: entry.seq, ...entry.record }) : printLine(render(entry));
  if (flags.follow) return follow(dir, count, show);
  for (const entry of await tailLog(dir, count)) show(entry);
}

async function follow(dir: string, count: number, show: (entry: Entry) => void): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const follower = await followNew(dir);
  const shown = new Set<string>();
  const once = (entry: Entry) => {
    if (!shown.has(entry.seq)) show(entry);
  };
  // What is written between the two is in both.
  for (const entry of await tailLog(dir, count)) {
    show(entry);
    shown.add(entry.seq);
  }
  let reading = Promise.resolve();
  await new Promise<never>((_, reject) => {
    const read = () => {
      reading = reading.then(async () => (await follower.poll()).forEach(once)).catch(reject);
    };
    watch(dir, read).on('error', reject);
    // What was written between the first read and the watch.
    read();
  });
}

async function verify(flags: Where): Promise<void> {
  const reports = await verifyLog(await folder(flags));
  const problems = reports.flatMap((report) => report.problems);
  const records = reports.reduce((sum, report) => sum + report.records, 0);
  const torn = reports.filter((report) => report.torn).map(({ file }) => file);
  if (flags.json) printJson({ ok: problems.length === 0, files: reports.length, records, torn, problems });
  else {
    for (const { file, line, problem } of problems) printLine(`${file}.jsonl:${line}: ${problem}`);
    for (const file of torn)
      printLine(`${file}.jsonl: the last line is incomplete: its writer died while writing it`);
    printLine(
      `${records} records in ${reports.length} files, ${problems.length === 0 ? 'all chains hold' : `${problems.length} broken`}`,
    );
  }
  if (problems.length > 0) process.exitCode = 1;
}

async function unused(flags: Where): Promise<void> {
  const { loadConfig } = await import('../../config/load.ts');
  const { unusedRules } = await import('../log-unused.ts');
  const snapshot = await loadConfig({ path: flags.config, env: process.env, locations: false });
  const { rules, calls } = await unusedRules(
    snapshot,
    flags.dir === undefined ? snapshot.config.requests.log : existing(flags.dir),
  );
  if (flags.json) return printJson({ calls, rules });
  for (const { tool, subcommand, file, line } of rules)
    printLine(`${escapeHostile(file)}:${line} ${renderArgv([tool, ...subcommand])}`);
  printLine(`${rules.length} rules were used by none of ${calls} different allowed calls`);
}

async function why(seq: string, flags: Where): Promise<void> {
  const entries = await story(await folder(flags), seq);
  if (!entries)
    throw new WraptoolError('usage', `there is no record '${seq}' in the log`, {
      hint: "a seq is <file>:<number>, as results and denials give it; 'wraptool log tail' shows the newest",
    });
  for (const entry of entries)
    if (flags.json) printJson({ seq: entry.seq, ...entry.record });
    else printLine(render(entry));
}

/** One line per record: time, seq, event, facts. Whatever an agent wrote is escaped. */
export function render({ seq, record }: Entry): string {
  const session = record.session === null ? '' : ` [${escapeHostile(record.session)}]`;
  return `${record.time} ${seq}${session} ${record.event} ${escapeHostile(facts(record))}`;
}

function facts(record: LogRecord): string {
  switch (record.event) {
    case 'received':
      return `${record.name}${record.argv === null ? '' : ` ${renderArgv(record.argv)}`}${record.arguments === undefined ? '' : ` ${record.arguments}`} from ${record.client}`;
    case 'decided':
      return [
        `${record.decision} ${renderArgv([record.tool, ...(record.argv ?? [])])}`,
        record.reason === null ? '' : `${record.reason}: ${record.detail ?? ''}`,
        record.rule === null ? '' : `by ${record.rule.effect} rule ${record.rule.file}:${record.rule.line}`,
        record.cwd === null ? '' : `in ${record.cwd}`,
      ]
        .filter((part) => part !== '')
        .join(', ');
    case 'finished':
      return `${record.outcome}${record.exit_code === null ? '' : ` ${record.exit_code}`}${record.signal === null ? '' : ` ${record.signal}`} after ${record.duration_ms} ms${record.detail === null ? '' : `: ${record.detail}`}`;
    case 'requested':
      return `${record.id} ${renderArgv([record.tool, ...record.subcommand, ...record.flags, ...(record.args ?? [])])}: ${record.rationale}`;
    default: {
      const {
        n: _n,
        time: _time,
        prev: _prev,
        hash: _hash,
        session: _session,
        event: _event,
        ...rest
      } = record;
      return JSON.stringify(rest);
    }
  }
}
