import type { Command } from 'commander';
import { approve, isApproved } from '../../devcontainer/approval.ts';
import { inspect, type Inspection } from '../../devcontainer/inspect.ts';
import { WraptoolError } from '../../errors.ts';
import { cacheDir, configDir, homeDir, sessionsDir, stateDir } from '../../paths.ts';
import { resolveWorkspace } from '../../up/workspace.ts';
import { ask, canAsk } from '../ask.ts';
import { approvalView, findingLines } from '../devcontainer-view.ts';
import { escapeHostile } from '../hostile.ts';
import { note, printJson, printLine } from '../voice.ts';

type Flags = {
  readonly workspace?: string;
  readonly definition?: string;
  readonly json?: boolean;
  readonly yes?: boolean;
  readonly hash?: string;
  readonly dryRun?: boolean;
};

export function register(program: Command): void {
  const devcontainer = program
    .command('devcontainer')
    .description(
      "the workspace's own dev container definition: what in it reaches the host, and its approval",
    );
  const command = (name: string, text: string) =>
    devcontainer
      .command(name)
      .description(text)
      .option('--workspace <dir>', 'default: the top of the git work tree, else the current folder')
      .option('--definition <file>', 'relative to the workspace; default: as the Dev Containers CLI finds it')
      .option('--json', 'as JSON');
  command('inspect', 'list what in the definition reaches the host; nothing of it is run or fetched').action(
    show,
  );
  command('approve', 'approve the exact content of the definition and of every file that it names')
    .option('--yes', 'do not ask')
    .option('--hash <sha256>', 'only if it has this hash, as inspect gives it')
    .option('--dry-run', 'show what would be approved')
    .addHelpText(
      'after',
      '\nExamples:\n  wraptool devcontainer inspect --json\n  wraptool devcontainer approve\n  wraptool up claude --devcontainer workspace',
    )
    .action(confirm);
}

async function look(flags: Flags): Promise<Inspection | null> {
  const env = process.env;
  const workspace = await resolveWorkspace({
    flag: flags.workspace,
    cwd: process.cwd(),
    home: homeDir(env),
    stateDirs: [stateDir, sessionsDir, configDir, cacheDir].map((folder) => folder(env)),
  });
  return inspect(workspace.path, { definition: flags.definition, cwd: process.cwd() });
}

async function show(flags: Flags): Promise<void> {
  const found = await look(flags);
  const approved = found !== null && (await isApproved(process.env, found));
  if (flags.json) return printJson({ hash: found?.hash ?? null, approved, findings: found?.findings ?? [] });
  if (found === null) return note('this workspace has no dev container definition');
  printLine(`${escapeHostile(found.name)}, sha256 ${found.hash}, ${approved ? 'approved' : 'not approved'}`);
  for (const line of findingLines(found)) printLine(line);
}

async function confirm(flags: Flags): Promise<void> {
  const found = await look(flags);
  if (found === null)
    throw new WraptoolError('devcontainer_missing', 'this workspace has no dev container definition', {
      hint: 'name it with --definition if it lies in another place',
    });
  if (flags.hash !== undefined && flags.hash !== found.hash)
    throw new WraptoolError('devcontainer_unapproved', `the definition has the hash ${found.hash} now`, {
      hint: 'look at it again with "wraptool devcontainer inspect"',
    });
  const answer = (approved: boolean) => ({ hash: found.hash, approved, findings: found.findings });
  if (await isApproved(process.env, found)) {
    if (flags.json) return printJson(answer(true));
    return printLine(`already approved: ${escapeHostile(found.name)}, sha256 ${found.hash}`);
  }
  const view = await approvalView(process.env, found);
  if (flags.dryRun) {
    if (flags.json) return printJson({ ...answer(false), changes: view.changes });
    for (const line of view.lines) printLine(line);
    return;
  }
  if (!flags.yes) {
    if (!canAsk())
      throw new WraptoolError('usage', 'there is no terminal to ask on, and no --yes', {
        hint: 'wraptool devcontainer approve --dry-run shows what --yes would approve',
      });
    if (!(await agreed(view.lines)))
      throw new WraptoolError('devcontainer_unapproved', 'not approved', { hint: 'nothing of it is used' });
  }
  await approve(process.env, found, new Date());
  if (flags.json) return printJson(answer(true));
  if (flags.yes) for (const line of view.lines) printLine(line);
  printLine(`approved: ${escapeHostile(found.name)}, sha256 ${found.hash}`);
}

async function agreed(lines: readonly string[]): Promise<boolean> {
  for (const line of lines) process.stderr.write(`${line}\n`);
  return ask('approve exactly this?');
}

/** Shows all that an approval is about, asks, and keeps it; false where the operator says no. */
export async function approveOnTerminal(found: Inspection): Promise<boolean> {
  if (!(await agreed((await approvalView(process.env, found)).lines))) return false;
  await approve(process.env, found, new Date());
  return true;
}
