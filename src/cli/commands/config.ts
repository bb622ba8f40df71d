import type { Command } from 'commander';
import { explainKey, jsonSchema, type KeyFacts } from '../../config/describe.ts';
import { lint } from '../../config/lint.ts';
import { loadConfig } from '../../config/load.ts';
import { WraptoolError } from '../../errors.ts';
import { compileUserPattern } from '../../scrub/user-pattern.ts';
import { printJson, printLine, table } from '../voice.ts';

export function register(program: Command): void {
  const config = program.command('config').description('check and explain the config');
  config
    .command('check')
    .description('validate the config and say what is doubtful')
    .option('--config <file>', 'the config file')
    .option('--json', 'as JSON')
    .action(check);
  config
    .command('schema')
    .description('print the JSON Schema of the config')
    .action(() => printLine(JSON.stringify(jsonSchema(), null, 2)));
  config
    .command('explain')
    .description('say what a key takes')
    .argument('<key>', 'such as tools.git.allow.flags')
    .option('--json', 'as JSON')
    .action(explain);
}

async function check(flags: { config?: string; json?: boolean }): Promise<void> {
  const snapshot = await loadConfig({ path: flags.config, env: process.env });
  for (const pattern of snapshot.config.scrub.patterns) compileUserPattern(pattern);
  const warnings = lint(snapshot);
  if (flags.json) return printJson({ file: snapshot.file, hash: snapshot.hash, warnings });
  for (const { line, message, code } of warnings)
    printLine(`${snapshot.file}${line === null ? '' : `:${line}`} ${message} [${code}]`);
  printLine(`${snapshot.file} is valid, ${warnings.length} warning${warnings.length === 1 ? '' : 's'}`);
}

function explain(key: string, flags: { json?: boolean }): void {
  const facts = explainKey(key);
  if ('meant' in facts)
    throw new WraptoolError('usage', `there is no config key "${key}"`, {
      hint: facts.meant === null ? 'docs/config.md has every key' : `did you mean "${facts.meant}"?`,
    });
  if (flags.json) return printJson(facts);
  printLine(about(facts.found));
  if (facts.below.length > 0)
    printLine(`\n${table(facts.below.map((one) => [one.key, one.type, one.description]))}`);
}

function about(facts: KeyFacts): string {
  const lines = [facts.key, `  ${facts.description}`, `  type: ${facts.type}`];
  if (facts.required) lines.push('  required');
  if (facts.default !== null) lines.push(`  default: ${facts.default}`);
  return lines.join('\n');
}
