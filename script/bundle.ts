/**
 * Makes the programs of dist/ out of src/ and of what they import: one bundle in parts for the command line, one file for
 * each program that is a process of its own. A start reads few files then, and of a package only what is used.
 * Usage: node script/bundle.ts FOLDER
 */
import { writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import path from 'node:path';
import { rolldown, type OutputChunk, type Plugin } from 'rolldown';
import { notices } from './notices.ts';

/** The oldest Node that `engines` admits. */
const target = 'node22.18';

/** Native, and optional: it stays a package, as does the Dev Containers CLI, which is run and not imported. */
const external = ['koffi'];

/**
 * What dockerode loads for engines at the other end of ssh and for BuildKit's sessions. Neither is used: remote engines
 * are refused, images are built without a session. It is most of what dockerode costs.
 */
const unused = new Set(['ssh2', '@grpc/grpc-js', '@grpc/proto-loader', 'protobufjs']);

const withoutUnused: Plugin = {
  name: 'without-unused',
  resolveId: (id) => (unused.has(id) ? `\0unused:${id}` : null),
  load: (id) => (id.startsWith('\0unused:') ? { code: 'module.exports = {};', moduleType: 'js' } : null),
};

/**
 * Node's own modules as they are: an `import` of one would read each of its properties, and so load what stands behind
 * those that are there only when asked for (of node:http all of fetch, of node:fs its promises).
 */
const asTheyAre: Plugin = {
  name: 'as-they-are',
  // The bundler's own runtime is what these are made with.
  resolveId: (id, importer) =>
    isBuiltin(id) && importer !== undefined && !/^\0(rolldown|builtin)/.test(importer)
      ? `\0builtin:${id}`
      : null,
  load: (id) =>
    id.startsWith('\0builtin:')
      ? { code: `module.exports = require('${id.slice('\0builtin:'.length)}');`, moduleType: 'js' }
      : null,
};

/**
 * Few files for a start: what every command needs, what `exec` needs, which is to start at once, what most others
 * do. None that is light brings one that is not.
 */
const groups = [
  {
    name: 'base',
    priority: 3,
    test: /^\0builtin:|src\/(errors|paths|places|cli\/(direct|output|program|help|table|version|voice|hostile))\.ts$/,
  },
  {
    name: 'exec',
    priority: 2,
    test: /src\/(config\/location|up\/(session-name|control\/(client|exec-client|line)|runtime\/(holder-client|write|holder\/frames)))\.ts$/,
  },
  { name: 'processes', priority: 1, test: /src\/(supervise|confine)\/.*\.ts$/ },
  {
    name: 'config',
    priority: 1,
    test: /src\/(zod|(config|policy|log)\/.*)\.ts$|node_modules\/(zod|yaml)\//,
  },
];

type Program = {
  /** Its source and its place in the folder, both without their ending. */
  readonly source: string;
  readonly place: string;
  readonly parts?: boolean;
  readonly plugins?: readonly Plugin[];
};

async function bundle(
  folder: string,
  { source, place, parts = false, plugins = [] }: Program,
): Promise<OutputChunk[]> {
  const build = await rolldown({
    input: { [place]: `src/${source}.ts` },
    platform: 'node',
    external,
    transform: { target },
    plugins: [withoutUnused, asTheyAre, ...plugins],
    checks: { ineffectiveDynamicImport: false },
  });
  const { output } = await build.write({
    dir: folder,
    format: 'esm',
    entryFileNames: '[name].js',
    // In the folder's top, where src/places.ts takes itself to be.
    chunkFileNames: '[name]-[hash].js',
    codeSplitting: parts && { groups },
  });
  await build.close();
  const chunks = output.filter((one) => one.type === 'chunk');
  refuseMissing(chunks);
  return chunks;
}

/** What the bundler does not find it leaves for later: a folder of programs holds all that it needs, or is none. */
function refuseMissing(chunks: readonly OutputChunk[]): void {
  const missing = chunks
    .flatMap(({ imports, dynamicImports }) => [...imports, ...dynamicImports])
    .filter((name) => !isBuiltin(name) && !external.includes(name) && !name.endsWith('.js'));
  if (missing.length > 0) throw new Error(`not found: ${[...new Set(missing)].sort().join(', ')}`);
}

/** The entry holds only what comes before the compile cache is on; all else is read through it. */
const startApart: Plugin = {
  name: 'start-apart',
  resolveId: (id) => (id === './cli/start.ts' ? { id: './start.js', external: true } : null),
};

const programs: readonly Program[] = [
  { source: 'main', place: 'main', plugins: [startApart] },
  { source: 'cli/start', place: 'start', parts: true },
  // What is mounted into a runtime, or is to stay small, is whole in itself.
  ...['executor/spawner-child', 'relay/main', 'relay/preflight', 'relay/probe', 'up/runtime/holder/main'].map(
    (source) => ({ source, place: source }),
  ),
];

const [folder = ''] = process.argv.slice(2);
if (folder === '') throw new Error('usage: bundle.ts FOLDER');
const made: OutputChunk[] = [];
for (const program of programs) made.push(...(await bundle(folder, program)));
writeFileSync(path.join(folder, 'THIRD_PARTY.txt'), notices(made.flatMap((chunk) => chunk.moduleIds)));
