import type { Command } from 'commander';
import { WraptoolError } from '../../errors.ts';
import { scripts, shells, type Shell } from '../completion/scripts.ts';
import { complete } from '../completion/words.ts';
import { printLine } from '../voice.ts';

const examples = `
Examples:
  bash  eval "$(wraptool completion bash)"                                     in ~/.bashrc
  zsh   eval "$(wraptool completion zsh)"                                      in ~/.zshrc
  fish  wraptool completion fish > ~/.config/fish/completions/wraptool.fish`;

export function register(program: Command): void {
  const completion = program
    .command('completion')
    .description('print what makes a shell complete wraptool by Tab')
    .argument('<shell>', shells.join(', '))
    .addHelpText('after', examples)
    .action((shell: string) => {
      if (!isShell(shell))
        throw new WraptoolError('usage', `there is no completion for "${shell}"`, {
          hint: `one of ${shells.join(', ')}`,
        });
      process.stdout.write(scripts[shell]);
    });
  // What the printed script asks.
  completion.command('words [words...]', { hidden: true }).action(async (words: readonly string[]) => {
    const found = await complete(words);
    if (found === 'files') printLine(':files');
    else for (const { word, about } of found) printLine(about === '' ? word : `${word}\t${about}`);
  });
}

function isShell(word: string): word is Shell {
  return (shells as readonly string[]).includes(word);
}
