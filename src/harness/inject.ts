/** Descriptor + one run's facts -> argv, environment and files. Pure. */
import { programFile } from '../places.ts';
import { dataFormats, writeData, type DataFormat } from './formats.ts';
import { mergeJson } from './merge.ts';
import type { DescriptorData, FileSeed, Layer } from './schema.ts';
import { fill, fillJson, placeholders, type Values } from './template.ts';
import type { InjectedFile, Injection } from './types.ts';

export type InjectContext = {
  /** Absolute path of the workspace, the same inside. */
  readonly workspace: string;
  /** What every process inside gets: WRAPTOOL_URL, WRAPTOOL_TOKEN, and the host's variables that the operator named. */
  readonly env: Readonly<Record<string, string>>;
  /** The operator's own harness arguments, last on the command line. */
  readonly args: readonly string[];
  readonly yolo: boolean;
  readonly inside: {
    readonly home: string;
    readonly harness: string;
    readonly node: string;
    /** Folder of the relay. */
    readonly relay: string;
    /** Folder where files with `where: session` are seen. */
    readonly files: string;
  };
};

/**
 * `env` of the result is what the descriptor adds: a variable that the context has already stays the operator's.
 * `path` of a file with `where: session` is relative to the folder `inside.files`.
 */
export function inject(descriptor: DescriptorData, context: InjectContext): Injection {
  const { home, harness, node, relay, files } = context.inside;
  const values: Values = {
    places: {
      home,
      harness,
      node,
      relay: `${relay}/${programFile('main')}`,
      files,
      workspace: context.workspace,
      url: context.env['WRAPTOOL_URL'] ?? '',
      token: context.env['WRAPTOOL_TOKEN'] ?? '',
    },
    env: context.env,
  };
  const layers = layersOf(descriptor, context);
  const words = [...descriptor.command, ...layers.flatMap((layer) => layer.args)];
  return {
    command: [...words.map((word) => fill(word, values)), ...context.args],
    ...environment(descriptor, layers, context, values),
    files: seededFiles(layers, values),
  };
}

function layersOf(descriptor: DescriptorData, context: InjectContext): Layer[] {
  const layers = [descriptor.run];
  for (const [name, layer] of Object.entries(descriptor.when_env))
    if (Object.hasOwn(context.env, name) && context.env[name] !== '') layers.push(layer);
  if (context.yolo) layers.push(descriptor.yolo);
  return layers;
}

function environment(
  descriptor: DescriptorData,
  layers: readonly Layer[],
  context: InjectContext,
  values: Values,
): Pick<Injection, 'env' | 'secretEnv'> {
  const env: Record<string, string> = {};
  const secretEnv = new Set(['WRAPTOOL_TOKEN']);
  for (const [name, text] of layers.flatMap((layer) => Object.entries(layer.env))) {
    if (Object.hasOwn(context.env, name)) continue;
    env[name] = fill(text, values);
    if (placeholders(text).some(({ kind }) => kind !== 'place')) secretEnv.add(name);
    else secretEnv.delete(name);
  }
  for (const [name, kind] of Object.entries(descriptor.known_env))
    if (kind === 'secret' && Object.hasOwn(context.env, name)) secretEnv.add(name);
  return { env, secretEnv };
}

/** One file per place and path: data of several layers is merged, a text of a later layer replaces. */
function seededFiles(layers: readonly Layer[], values: Values): InjectedFile[] {
  const made = new Map<string, { seed: FileSeed; data: unknown; text: string }>();
  for (const seed of layers.flatMap((layer) => layer.files)) {
    const key = `${seed.where}:${seed.path}`;
    const given = dataOf(seed);
    const data = given === null ? null : mergeJson(made.get(key)?.data, fillJson(given.value, values));
    made.set(key, { seed, data, text: fill(seed.text ?? '', values) });
  }
  return [...made.values()].map(({ seed, data, text }) => {
    const format = dataOf(seed)?.format ?? 'text';
    return {
      path: seed.path,
      content: format === 'text' ? text : writeData(format, data),
      where: seed.where,
      format,
    };
  });
}

/** The data of a file and how it is written; null for a text. */
function dataOf(seed: FileSeed): { readonly format: DataFormat; readonly value: unknown } | null {
  const format = dataFormats.find((candidate) => seed[candidate] !== undefined);
  return format === undefined ? null : { format, value: seed[format] };
}
