/** Who may import whom, who may spawn, who may load what is heavy: the table of docs/architecture.md as data. */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const source = fileURLToPath(new URL('../../src/', import.meta.url));

/** What everyone may import. */
const common = ['errors.ts', 'places.ts', 'zod.ts'];

/** A list may name a single file. */
const allowed: Readonly<Record<string, readonly string[] | 'all'>> = {
  cli: 'all',
  'main.ts': ['cli', 'paths.ts'],
  'errors.ts': [],
  'paths.ts': [],
  'places.ts': [],
  'zod.ts': [],
  gateway: [
    'config',
    'log',
    'requests',
    'policy',
    'executor',
    'proxy',
    'scrub',
    'introspect',
    'paths.ts',
    // Of the supervisor only who is at the other end of a socket.
    'supervise/credentials.ts',
    // Whether its namespace is contaminated.
    'restart',
    // As whom the checks inside speak.
    'relay/preflight/types.ts',
  ],
  // Of the executor only what reads a repository's remotes, confined, for the operator to confirm.
  up: [
    'config',
    'log',
    'harness',
    'confine',
    'devcontainer',
    'supervise',
    'restart',
    'paths.ts',
    'executor/guards/git/discover.ts',
  ],
  // Judges the workspace's definition as hostile input and keeps what was approved; runs nothing.
  devcontainer: ['edit', 'paths.ts'],
  supervise: ['config', 'log', 'paths.ts'],
  // Pure but for store.ts, which keeps what outlives a session.
  restart: ['config/location.ts', 'edit/file.ts', 'paths.ts', 'policy/pattern/pattern.ts', 'scrub'],
  harness: ['config', 'edit', 'confine', 'paths.ts'],
  // Of the executor only what resolves a program, so that an operator sees which one it is.
  requests: ['config', 'edit', 'log', 'policy', 'executor/binary.ts', 'executor/types.ts'],
  // The operator's page: what the command line does, by other means. Of the command line only who is left to use a grant.
  web: [
    'config',
    'log',
    'requests',
    'policy',
    'supervise',
    'edit',
    'restart',
    'scrub',
    'up',
    'paths.ts',
    'cli/requests-desk.ts',
  ],
  proxy: ['executor'],
  introspect: ['executor', 'confine'],
  executor: ['confine', 'scrub', 'policy/types.ts'],
  config: ['policy', 'proxy/types.ts', 'paths.ts'],
  relay: [],
  policy: [],
  scrub: [],
  log: [],
  edit: [],
  confine: [],
};

type File = { readonly name: string; readonly imports: readonly string[] };

function imports(text: string): string[] {
  const static_ = /^\s*(?:import|export)\s(?:[^'";]*?\sfrom\s)?\s*['"]([^'"]+)['"]/gm;
  const dynamic = /\bimport\(\s*['"]([^'"]+)['"]\s*\)/g;
  return [static_, dynamic].flatMap((shape) => [...text.matchAll(shape)].map((found) => found[1] ?? ''));
}

const files: File[] = readdirSync(source, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => ({ name, imports: imports(readFileSync(path.join(source, name), 'utf8')) }));

/** Names of files, sorted, that import a module whose specifier matches. */
function importersOf(specifier: RegExp): string[] {
  return files
    .filter((file) => file.imports.some((one) => specifier.test(one)))
    .map((file) => file.name)
    .sort();
}

/** `a/b/c.ts` for a relative specifier, as seen from src; null for a package. */
function resolved(from: string, specifier: string): string | null {
  return specifier.startsWith('.') ? path.join(path.dirname(from), specifier) : null;
}

function area(name: string): string {
  return name.split('/')[0] ?? name;
}

test('every folder of src is in the table', () => {
  const unknown = new Set(
    files.map((file) => area(file.name)).filter((name) => !Object.hasOwn(allowed, name)),
  );
  assert.deepEqual([...unknown], []);
});

test('the reader of imports sees every form', () => {
  const text = `import a from './a.ts';\nimport type { B } from "./b.ts";\nimport {\n  c,\n} from './c.ts';
import './d.ts';\nexport { e } from './e.ts';\nconst f = await import('./f.ts');\n// import g from './g.ts'`;
  assert.deepEqual(imports(text), ['./a.ts', './b.ts', './c.ts', './d.ts', './e.ts', './f.ts']);
});

describe('imports of', () => {
  for (const [from, may] of Object.entries(allowed))
    test(`src/${from} stay within the table`, () => {
      if (may === 'all') return;
      const others = files
        .filter((file) => area(file.name) === from)
        .flatMap((file) =>
          file.imports.map((specifier) => ({ file: file.name, to: resolved(file.name, specifier) })),
        )
        .filter(({ to }) => to !== null && !common.includes(to) && area(to) !== from)
        .filter(({ to }) => !may.includes(area(to ?? '')) && !may.includes(to ?? ''))
        .map(({ file, to }) => `${file} -> ${to}`);
      assert.deepEqual(others, []);
    });
});

test('no file leaves src', () => {
  const outside = files.flatMap((file) =>
    file.imports
      .filter((specifier) => resolved(file.name, specifier)?.startsWith('..') === true)
      .map((to) => `${file.name} -> ${to}`),
  );
  assert.deepEqual(outside, []);
});

test('what runs inside the runtime and what judges a call import nothing but Node’s own and ours', () => {
  const foreign = files
    .filter((file) => ['relay', 'policy', 'scrub', 'confine'].includes(area(file.name)))
    .flatMap((file) =>
      file.imports.filter((one) => !/^(\.|node:)/.test(one)).map((one) => `${file.name} -> ${one}`),
    );
  assert.deepEqual(foreign, []);
});

test('policy does no I/O', () => {
  const impure = files
    .filter((file) => area(file.name) === 'policy')
    .flatMap((file) =>
      file.imports.filter((one) => one.startsWith('node:')).map((one) => `${file.name} -> ${one}`),
    );
  assert.deepEqual(impure, []);
});

test('only one file imports dockerode', () =>
  assert.equal(importersOf(/^dockerode/).length <= 1, true, importersOf(/^dockerode/).join(', ')));

test('only one file imports zod', () => assert.deepEqual(importersOf(/^zod/), ['zod.ts']));

test('only the command line and up/run.ts import listr2', () =>
  assert.deepEqual(
    importersOf(/^listr2/).filter((name) => area(name) !== 'cli' && name !== 'up/run.ts'),
    [],
  ));

test('only what has to starts processes', () =>
  assert.deepEqual(
    importersOf(/^(node:)?child_process$|^execa$/).filter(
      (name) =>
        !/^(executor|confine|up)\//.test(name) &&
        ![
          'harness/install.ts',
          'harness/lock.ts',
          'harness/npm.ts',
          'supervise/supervisor.ts',
          'supervise/systemctl.ts',
          'requests/notify.ts',
          // Inside the runtime, where it asks git.
          'relay/preflight/workspace.ts',
        ].includes(name),
    ),
    [],
  ));

/** The files that a file of src imports, with what those import, and the specifiers of everything else. */
function reached(start: readonly string[]): { files: Set<string>; foreign: Set<string> } {
  const seen = new Set<string>();
  const foreign = new Set<string>();
  const open = [...start];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (seen.has(name)) continue;
    seen.add(name);
    for (const specifier of files.find((file) => file.name === name)?.imports ?? []) {
      const to = resolved(name, specifier);
      if (to === null) foreign.add(specifier);
      else open.push(to);
    }
  }
  return { files: seen, foreign };
}

const pureRestart = files
  .map((file) => file.name)
  .filter((name) => area(name) === 'restart' && name !== 'restart/store.ts');

test('gate, ledger, preview and classifier do no I/O, nor does anything that they import', () => {
  const { files: all, foreign } = reached(pureRestart);
  assert.ok(all.has('restart/gate.ts') && all.has('restart/classify/walk.ts'));
  assert.equal(all.has('restart/store.ts'), false);
  assert.deepEqual([...foreign].sort(), ['unbash', 'zod']);
});

test('no code path of the gate spawns, signals, builds a command line or reads an environment', () => {
  const gate = pureRestart.filter((name) => !name.startsWith('restart/classify/'));
  const acting =
    /\bprocess\s*(?:\.\w|\[)|globalThis|\bspawn|child_process|execFile|\bimport\(|\brequire\(|\.kill\(|systemctl/;
  const found = gate.filter((name) => acting.test(readFileSync(path.join(source, name), 'utf8')));
  assert.deepEqual(found, []);
});
