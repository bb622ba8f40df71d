import type { Command } from 'commander';
import { inspectSession, type Inspection } from '../../up/inspect.ts';
import { findingLine } from '../../up/preflight.ts';
import { escapeHostile, renderArgv } from '../hostile.ts';
import { printJson, printLine } from '../voice.ts';

export function register(program: Command): void {
  program
    .command('inspect')
    .description('tell what is known of a session')
    .argument('<name>', 'as in "wraptool ps"')
    .option('--json', 'as JSON')
    .action(async (name: string, flags: { json?: boolean }) => {
      const found = await inspectSession(process.env, name);
      if (flags.json) printJson(found);
      else for (const [key, value] of rows(found)) printLine(`${key.padEnd(11)} ${escapeHostile(value)}`);
    });
}

function rows(found: Inspection): (readonly [string, string])[] {
  const { supervisor, gateway, preflight } = found;
  const facts = Object.entries(found.facts).map(([key, value]) => `${key} ${value}`);
  const remotes = Object.entries(found.remotes).map(([name, url]) => ['remote', `${name} = ${url}`] as const);
  const answers = supervisor.answers ? 'answers' : 'does not answer';
  return [
    ['name', found.name],
    ['id', found.id],
    ['status', found.status],
    ['harness', found.harness],
    ['runtime', [found.runtime, ...facts].join(', ')],
    ['network', found.network ?? 'unknown'],
    ['created', found.created],
    ['workspace', found.workspace],
    ['owner', `${found.owner.uid}:${found.owner.gid}`],
    ['home', found.home ?? 'unknown'],
    ['config', found.config],
    ...remotes,
    ['folder', found.paths.session],
    ['log', found.paths.log ?? 'unknown'],
    ['supervisor', `pid ${supervisor.pid}, ${supervisor.alive ? answers : 'gone'}`],
    ['health', [found.health.status, ...found.health.reasons].join('; ')],
    ['gateway', gateway === null ? 'none' : `pid ${gateway.pid}, ${gateway.alive ? 'runs' : 'gone'}`],
    ...(preflight === null ? [['checks', 'not run yet'] as const] : []),
    ...(preflight?.length === 0 ? [['checks', 'all fine'] as const] : []),
    ...(preflight ?? []).map((finding) => ['checks', `${finding.level}: ${findingLine(finding)}`] as const),
    ...found.commands.map((command) => ['runs', renderArgv(command)] as const),
  ];
}
