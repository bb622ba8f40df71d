/** Every file that a definition names: it is hashed with it, and a copy of it is what is used. */
import path from 'node:path';
import { namedSources } from './dockerfile.ts';
import { readManifest } from './features.ts';
import type { Judgement } from './judge.ts';
import { lifecycleCommands } from './judge-container.ts';
import type { Json } from './jsonc.ts';
import type { Located } from './locate.ts';
import { readOptions } from './options.ts';
import { runShape } from './run-options.ts';
import { Collection } from './tree.ts';
import type { Ground } from './types.ts';
import { each, isObject, own, strings, type JsonObject, textOf } from './values.ts';
import { hostMark, substitute, substituteAll } from './variables.ts';

const mostWords = 500;

export async function namedFiles(
  given: JsonObject | null,
  located: Located & { readonly bytes: Buffer },
  judgement: Judgement | null,
  ground: Ground,
): Promise<Collection> {
  const found = new Collection(ground);
  found.put(located.name, located.bytes, false);
  if (given === null || judgement === null) return found;
  const folder = path.dirname(located.file);
  const values = { workspace: ground.workspace, containerFolder: ground.workspace };
  const text = (value: string): string => substitute(value, values);
  const at = (value: string): string => path.resolve(folder, text(value));
  await dockerfile(given, judgement, at, found, ground);
  if (judgement.origin === 'compose') await composeFiles(given, at, found, ground);
  for (const feature of judgement.features) await found.folder(feature.folder);
  const word = (value: Json): string => textOf(substituteAll(value, values));
  const manifests = await Promise.all(judgement.features.map(({ folder: at }) => readManifest(at, ground)));
  const filters = [given, ...manifests].flatMap((asking) => filterFiles(asking, word));
  for (const file of [...filters, ...optionFiles(given, word)])
    await found.file(path.resolve(ground.workspace, file));
  for (const word of commandWords(given, text)) await found.file(path.resolve(ground.workspace, word));
  return found;
}

/** The Dockerfile and what of the context it takes. */
async function dockerfile(
  given: JsonObject,
  { origin }: Judgement,
  at: (value: string) => string,
  found: Collection,
  ground: Ground,
): Promise<void> {
  const place = buildPlace(given, origin);
  if (place === null) return;
  const file = at(place.file);
  const context = place.context === null ? path.dirname(file) : at(place.context);
  if (!(await found.file(file))) return;
  await found.file(`${file}.dockerignore`);
  await found.file(path.join(context, '.dockerignore'));
  const text = ((await ground.read(file)) ?? Buffer.alloc(0)).toString('utf8');
  const sources = namedSources(text);
  if (sources === null) return found.folder(context);
  for (const source of sources) {
    // As the engine has it: from the context's top, never above it.
    const steps = path.posix
      .normalize(`/${source}`)
      .split('/')
      .filter((step) => step !== '');
    await found.folder(context, steps);
  }
}

/** Dockerfile and context as written; null where there is none. */
export function buildPlace(
  given: JsonObject,
  origin: Judgement['origin'],
): { readonly file: string; readonly context: string | null } | null {
  const build = own(given, 'build');
  const holder = origin === 'dockerFile' ? given : origin === 'build' && isObject(build) ? build : null;
  if (holder === null) return null;
  const file = own(holder, origin === 'dockerFile' ? 'dockerFile' : 'dockerfile');
  const context = own(holder, 'context');
  if (typeof file !== 'string') return null;
  return { file, context: typeof context === 'string' && context !== '' ? context : null };
}

async function composeFiles(
  given: JsonObject,
  at: (value: string) => string,
  found: Collection,
  ground: Ground,
): Promise<void> {
  const named = each(own(given, 'dockerComposeFile'), '').flatMap(({ value }) =>
    typeof value === 'string' ? [at(value)] : [],
  );
  for (const file of named) {
    await found.file(file);
    await found.file(path.join(path.dirname(file), '.env'));
  }
  const usual = named.length > 0 ? [] : ['docker-compose.yml', 'docker-compose.override.yml', 'compose.yaml'];
  for (const name of ['.env', ...usual]) await found.file(path.join(ground.workspace, name));
}

/** Files that the engine's client reads: system call filters, variables, labels. */
function optionFiles(given: JsonObject, word: (value: Json) => string): readonly string[] {
  const args = own(given, 'runArgs');
  if (!Array.isArray(args)) return [];
  return readOptions(args.map(word), runShape).flatMap((part) => {
    if (part.kind !== 'option' || part.value === null || part.value.includes(hostMark)) return [];
    if (part.name === 'security-opt') return filterFile(part.value);
    return ['env-file', 'label-file'].includes(part.name) ? [part.value] : [];
  });
}

/** Of the definition or a feature's manifest. */
function filterFiles(asking: JsonObject, word: (value: Json) => string): readonly string[] {
  return each(own(asking, 'securityOpt'), '').flatMap(({ value }) => filterFile(word(value)));
}

function filterFile(option: string): readonly string[] {
  const file = /^seccomp[=:](.+)$/.exec(option)?.[1];
  return file === undefined || file === 'unconfined' || file === 'builtin' ? [] : [file];
}

/** Words of commands that could be scripts of the workspace, where these commands start. */
function commandWords(given: JsonObject, text: (value: string) => string): readonly string[] {
  const folder = own(given, 'workspaceFolder');
  const words = new Set<string>();
  for (const name of [...lifecycleCommands, 'initializeCommand'])
    for (const word of wordsOf(own(given, name)))
      words.add(
        typeof folder === 'string' && word.startsWith(`${folder}/`)
          ? word.slice(folder.length + 1)
          : text(word),
      );
  return [...words].slice(0, mostWords);
}

function wordsOf(command: Json | undefined): readonly string[] {
  return [...strings(command)].flatMap(({ text }) =>
    text
      .split(/[\s;&|()<>"'`=]+/)
      .filter((word) => word !== '' && word.length < 1024 && !word.startsWith('-')),
  );
}
