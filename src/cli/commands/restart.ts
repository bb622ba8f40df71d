import type { Command } from 'commander';
import { WraptoolError } from '../../errors.ts';
import { openLog } from '../../log/append.ts';
import { classify, type Classification } from '../../restart/classify/classify.ts';
import { contract } from '../../restart/contract.ts';
import { liveMarkers } from '../../restart/gate.ts';
import type { Answer, Preview } from '../../restart/preview.ts';
import { clearMarkers } from '../../restart/store.ts';
import { escapeHostile } from '../hostile.ts';
import type { RestartOutcome } from '../../up/control/restart-server.ts';
import { knownNamespaces } from '../../up/namespaces.ts';
import { logFolder, ownUid, previewRestart, requestRestart } from '../restart-ask.ts';
import { note as remark, printJson, printLine } from '../voice.ts';

type RestartFlags = {
  mode: string;
  preview?: boolean;
  confirm?: string;
  wait?: boolean;
  json?: boolean;
};

export function register(program: Command): void {
  const restart = program
    .command('restart')
    .description('restart or reload a gateway, through its supervisor')
    .enablePositionalOptions()
    .argument('[namespace]', 'a session, NAME, or an upstream server in it, NAME/SERVER')
    .option('--mode <mode>', 'restart or reload', 'restart')
    .option('--preview', 'say what it would need and do; nothing is done')
    .option('--confirm <phrase>', 'the phrase that the preview gives')
    .option('--wait', 'wait until it is done, and end with 0 only if the gateway is clean then')
    .option('--json', 'as JSON')
    .action(async (namespace: string | undefined, flags: RestartFlags) => {
      process.exitCode = await ask(namespace, flags);
    });
  restart
    .command('classify')
    .description('say whether a command would kill a gateway by hand; it is never run (exit 3 if it would)')
    .argument('<command>', 'the command as one string')
    .option('--pid <pid>', 'a process id of a gateway or supervisor; may be given again', collectPid, [])
    .option('--json', 'as JSON')
    .action(async (command: string, flags: { pid: number[]; json?: boolean }) => {
      process.exitCode = await classifyCommand(command, flags);
    });
  restart
    .command('policy')
    .description('print the contract of restarts: actions, roles, what is known, what is required')
    .option('--json', 'as JSON')
    .action(showPolicy);
  restart
    .command('reconcile')
    .description('clear the contamination of a namespace, once it is known what happened')
    .argument('<name>', 'the namespace')
    .requiredOption('--note <text>', 'what happened, for the log')
    .option('--config <file>', 'config file that names the log')
    .option('--dry-run', 'say what would be cleared')
    .option('--json', 'as JSON')
    .action(reconcile);
}

function collectPid(text: string, before: number[]): number[] {
  const pid = Number(text);
  if (!/^\d{1,10}$/.test(text) || pid < 1)
    throw new WraptoolError('usage', `--pid takes a process id, not "${text}"`, {
      hint: 'for example --pid 4242',
    });
  return [...before, pid];
}

/** Exit code: 0 or 3. */
async function classifyCommand(
  command: string,
  { pid, json }: { pid: number[]; json?: boolean },
): Promise<0 | 3> {
  const { namespaces, pids } = await knownNamespaces(process.env, remark);
  const names = namespaces.filter(({ kind }) => kind !== 'server').map(({ name }) => name);
  const result = classify(command, { pids: new Set([...pids, ...pid]), names });
  if (json === true) printJson(result);
  else printClassification(result);
  return result.contamination ? 3 : 0;
}

function printClassification(result: Classification): void {
  const verdict = result.contamination
    ? `contaminating (${result.reason_class})`
    : result.process_kill
      ? 'a kill, but of no gateway'
      : 'no kill';
  printLine(`${verdict}: ${escapeHostile(result.redacted_command)}`);
  if (result.sanctioned_alternative !== null) printLine(`instead: ${result.sanctioned_alternative}`);
}

async function showPolicy({ json }: { json?: boolean }): Promise<void> {
  const rules = contract((await knownNamespaces(process.env, remark)).namespaces);
  if (json === true) return printJson(rules);
  const { actions, modes, known_namespaces, ...rest } = rules;
  printLine(`modes: ${modes.join(', ')}`);
  printLine(`known_namespaces: ${known_namespaces.join(', ')}`);
  for (const [name, value] of Object.entries(rest)) printLine(`${name}: ${value}`);
  for (const { id, required_role } of actions) printLine(`${id}: ${required_role ?? 'nobody'}`);
}

/** Exit code: 0 for a preview and what was handed over, 3 for a refusal; with --wait 1 where it is not clean afterwards. */
async function ask(namespace: string | undefined, flags: RestartFlags): Promise<0 | 1 | 3> {
  if (namespace === undefined)
    throw new WraptoolError('usage', 'a namespace is missing', {
      hint: 'wraptool restart policy lists what can be restarted',
    });
  const request = { namespace, mode: flags.mode, confirm: flags.confirm ?? null };
  if (flags.preview === true) {
    const shown = await previewRestart(request);
    if (flags.json === true) printJson(shown);
    else printPreview(shown);
    return 0;
  }
  const { answer: result, outcome } = await requestRestart(request, flags.wait ?? false);
  if (flags.json === true)
    printJson(outcome === null ? result : { ...result, ...outcome, detail: outcome.detail ?? result.detail });
  else printAnswer(result, outcome);
  if (!result.allowed) return 3;
  return outcome === null || outcome.health.status === 'clean' ? 0 : 1;
}

function printPreview(shown: Preview): void {
  if (shown.scope_reason_code !== null) printLine(`refused: ${shown.scope_reason_code}`);
  for (const { sequence, step, summary } of shown.mutation_ledger)
    printLine(`${sequence}. ${step}: ${escapeHostile(summary)}`);
  if (shown.confirmation_phrase !== null)
    printLine(`confirm with: ${escapeHostile(shown.confirmation_phrase)}`);
  printLine(`authorized by the operator: ${shown.operator_authorization.authorized ? 'yes' : 'no'}`);
  printLine(`restart hook: ${shown.restart_hook.configured ? 'configured' : 'none'}`);
}

function printAnswer(
  { allowed, reason_code, detail, next_action }: Answer,
  outcome: RestartOutcome | null,
): void {
  if (!allowed) {
    printLine(`refused: ${reason_code}: ${escapeHostile(detail)}`);
    printLine(`next: ${escapeHostile(next_action)}`);
  } else if (outcome === null)
    printLine('handed over to the supervisor; "wraptool inspect" tells how it went');
  else {
    const { result, detail: why, health } = outcome;
    printLine(`${result}${why === null ? '' : `: ${escapeHostile(why)}`}`);
    printLine(escapeHostile([`health: ${health.status}`, ...health.reasons].join('; ')));
  }
}

type ReconcileFlags = { note: string; config?: string; dryRun?: boolean; json?: boolean };

async function reconcile(name: string, { note, config, dryRun, json }: ReconcileFlags): Promise<void> {
  if (note.trim() === '' || note.length > 2000)
    throw new WraptoolError('usage', '--note takes a text of 1 to 2000 characters', {
      hint: 'say what happened',
    });
  const { namespaces, markers } = await knownNamespaces(process.env, remark);
  if (!namespaces.some((one) => one.name === name))
    throw new WraptoolError('namespace_unknown', `"${name}" is no live or recorded namespace`, {
      hint: 'wraptool restart policy lists them',
    });
  const own = liveMarkers(name, markers).filter(({ namespace }) => namespace === name);
  const damaged = own.find(({ reason }) => reason === 'record_damaged');
  // Before the log says that it was cleared.
  if (damaged !== undefined)
    throw new WraptoolError('state_damaged', `the record of "${name}" can't be read`, {
      hint: damaged.detail,
    });
  const cleared = dryRun === true ? own : own.length === 0 ? [] : await clear(name, note, config);
  if (json === true)
    return printJson({
      namespace: name,
      cleared: dryRun === true ? [] : cleared,
      would_clear: own.map(({ id }) => id),
    });
  const verb = dryRun === true ? 'would clear' : 'cleared';
  for (const { at, reason, detail } of cleared)
    printLine(`${verb}: ${at} ${reason} ${escapeHostile(detail)}`);
  if (cleared.length === 0) printLine(`"${name}" is not contaminated`);
}

/** The log comes first: what can't be logged is not done. */
async function clear(name: string, text: string, config: string | undefined) {
  const actor = `uid:${ownUid()}`;
  const log = await openLog(await logFolder(config, name), { session: null });
  try {
    log.append({
      event: 'restart',
      namespace: name,
      actor,
      mode: 'reconcile',
      result: 'reconciled',
      reason: text,
      action_id: 'system.reconcile_namespace',
    });
    return await clearMarkers(process.env, name, { actor, note: text }, new Date());
  } finally {
    log.close();
  }
}
