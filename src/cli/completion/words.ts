/** What can stand where the cursor is. */
import { Command, type Option } from 'commander';
import { commandTable, entryOf } from '../table.ts';
import { valuesFor, type Values } from './values.ts';

export type Word = { readonly word: string; readonly about: string };

/** `words` after the program's name; the last one is being typed, perhaps empty. 'files': what the shell knows best. */
export async function complete(words: readonly string[]): Promise<readonly Word[] | 'files'> {
  const typed = words.at(-1) ?? '';
  const before = words.slice(0, -1);
  // After -- stands the command of somebody else.
  if (before.includes('--')) return 'files';
  const found = await candidates(before, typed);
  return found === 'files' ? found : found.filter(({ word }) => word.startsWith(typed));
}

async function candidates(before: readonly string[], typed: string): Promise<readonly Word[] | 'files'> {
  const at = before.findIndex((word) => !word.startsWith('-'));
  if (at === -1)
    return typed.startsWith('-')
      ? ['--help', '--version', '--quiet', '--verbose'].map((word) => ({ word, about: '' }))
      : Object.entries(commandTable).map(([word, { summary }]) => ({ word, about: summary }));
  const entry = entryOf(before[at]);
  if (entry === null) return [];
  const program = new Command('wraptool');
  (await entry.load()).register(program);
  return below(walk(program, before.slice(at)), typed);
}

type Reached = {
  readonly command: Command;
  /** `policy test` */
  readonly path: string;
  readonly positionals: number;
  /** The option whose value is being typed. */
  readonly option: Option | null;
};

function walk(program: Command, words: readonly string[]): Reached {
  let command = program;
  let path = '';
  let positionals = 0;
  let option: Option | null = null;
  for (const word of words) {
    const child = positionals === 0 ? command.commands.find((one) => one.name() === word) : undefined;
    if (option !== null) option = null;
    else if (word.startsWith('-')) option = takesNext(command, word);
    else if (child === undefined) positionals += 1;
    else {
      command = child;
      path = `${path} ${word}`.trim();
    }
  }
  return { command, path, positionals, option };
}

function takesNext(command: Command, word: string): Option | null {
  const option = command.options.find(({ long, short }) => long === word || short === word);
  return option?.required === true ? option : null;
}

async function below(
  { command, path, positionals, option }: Reached,
  typed: string,
): Promise<readonly Word[] | 'files'> {
  if (option !== null)
    return worded(await valuesFor(path, option.long ?? '', /<(?:file|dir|folder)>/.test(option.flags)));
  if (typed.startsWith('-'))
    return command.options
      .filter(({ hidden }) => !hidden)
      .flatMap(({ long, description }) =>
        long === undefined || long === null ? [] : [{ word: long, about: description }],
      )
      .concat({ word: '--help', about: 'display help for command' });
  // What is hidden, and the help command that commander adds, are not offered.
  const children = command
    .createHelp()
    .visibleCommands(command)
    .filter((one) => command.commands.includes(one));
  if (children.length > 0 && positionals === 0)
    return children.map((one) => ({ word: one.name(), about: one.description() }));
  const argument =
    command.registeredArguments[positionals] ??
    command.registeredArguments.findLast(({ variadic }) => variadic);
  return argument === undefined ? [] : worded(await valuesFor(path, argument.name(), false));
}

function worded(values: Values): readonly Word[] | 'files' {
  return values === 'files' ? values : values.map((word) => ({ word, about: '' }));
}
