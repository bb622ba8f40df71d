import { constants } from 'node:fs';
import { access, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import { configPath } from '../../config/load.ts';
import { WraptoolError } from '../../errors.ts';
import { packagePlace } from '../../places.ts';
import { note, printJson, printLine } from '../voice.ts';

type Env = Readonly<Record<string, string | undefined>>;

export function register(program: Command): void {
  program
    .command('init')
    .description('write a commented starter config')
    .option('--config <file>', 'where to write it')
    .option('--print', 'print it instead of writing it')
    .option('--json', 'as JSON')
    .action(async (flags: { config?: string; print?: boolean; json?: boolean }) => {
      if (flags.print) return void process.stdout.write(await starter(process.env));
      const file = await init({ env: process.env, path: flags.config });
      if (flags.json) return printJson({ file });
      printLine(file);
      note('read it, then try: wraptool policy test -- git status');
    });
}

/**
 * Writes the starter config (mode 0600) and returns its path; never over a file that is there.
 * @throws WraptoolError usage
 */
export async function init(options: { env: Env; path?: string | undefined }): Promise<string> {
  const file = configPath(options);
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
  try {
    await writeFile(file, await starter(options.env), { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw new WraptoolError('usage', `there is a config at "${file}" already`, {
      hint: 'edit it, or name another file with --config',
      cause: error,
    });
  }
  return file;
}

/** The template with the blocks of the CLIs that are on PATH, each with its real place. */
async function starter(env: Env): Promise<string> {
  const template = await readFile(packagePlace('templates/config.yaml'), 'utf8');
  const kept: string[] = [];
  let binary: string | null = '';
  let tools = 0;
  for (const line of template.split('\n')) {
    const begin = /^ {2}#: ([a-z]+)$/.exec(line)?.[1];
    if (begin !== undefined) binary = await onPath(begin, env);
    else if (line === '  #: end') binary = '';
    else if (binary !== null) {
      kept.push(binary === '' ? line : line.replace(/binary: \S+/, `binary: ${binary}`));
      if (/^ {2}[a-z]+:$/.test(line) && binary !== '') tools++;
    }
  }
  const text = kept.join('\n');
  return tools === 0 ? text.replace(/^tools:$/m, 'tools: {}') : text;
}

async function onPath(name: string, env: Env): Promise<string | null> {
  for (const folder of (env['PATH'] ?? '').split(':').filter((part) => part.startsWith('/'))) {
    const file = path.join(folder, name);
    try {
      await access(file, constants.X_OK);
      if ((await stat(file)).isFile()) return file;
    } catch (error) {
      if (!['ENOENT', 'EACCES', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    }
  }
  return null;
}
