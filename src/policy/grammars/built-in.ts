/** Built-in grammars by the name of the CLI. */
import { cargo } from './cargo.ts';
import { docker } from './docker.ts';
import { find, tar } from './files.ts';
import { gh } from './gh.ts';
import { git } from './git.ts';
import { go } from './go.ts';
import type { BuiltIn, Grammar } from './grammar.ts';
import { kubectl } from './kubectl.ts';
import { curl, ssh } from './net.ts';
import { npm } from './npm.ts';
import { terraform } from './terraform.ts';
import type { GrammarSpec } from '../spec.ts';

const java: BuiltIn = { options: 'single-dash', longValues: 'detached', responseFiles: true };
const gcc: BuiltIn = { options: 'single-dash', longValues: 'detached', responseFiles: true };
const rustc: BuiltIn = { responseFiles: true };
const less: BuiltIn = { plusOptions: true };

const builtIn: ReadonlyMap<string, BuiltIn> = new Map([
  ...Object.entries({ cargo, curl, docker, find, gh, git, go, kubectl, npm, ssh, tar, terraform }),
  ...Object.entries({ gcc, java, javac: java, less, rustc, more: less, vi: less, vim: less, view: less }),
  ['g++', gcc],
  ['clang', gcc],
  ['clang++', gcc],
]);

/** The well-known CLI that a tool is taken for, or null. */
export function builtInName(tool: string, binary: string): string | null {
  const base = binary.slice(binary.lastIndexOf('/') + 1);
  return builtIn.has(base) ? base : builtIn.has(tool) ? tool : null;
}

/** The grammar of a tool: built in by the base name of its binary, else by its own name; the config's keys win. */
export function grammarFor(tool: string, binary: string, spec: GrammarSpec | undefined): Grammar {
  const name = builtInName(tool, binary) ?? '';
  return spec === undefined
    ? (unchanged.get(name) ?? unknown)
    : withKeys(builtIn.get(name) ?? unknown.facts, spec);
}

function withKeys(facts: BuiltIn, spec: GrammarSpec): Grammar {
  const options = spec.options ?? facts.options ?? 'gnu';
  return {
    options,
    // Unknown single-dash programs read the next word; fewer of them know "-name=value".
    longValues: spec.long_values ?? facts.longValues ?? (options === 'single-dash' ? 'detached' : 'attached'),
    responseFiles: spec.response_files ?? facts.responseFiles ?? false,
    plusOptions: spec.plus_options ?? facts.plusOptions ?? false,
    oldStyleOptions: spec.old_style_options ?? facts.oldStyleOptions ?? false,
    facts,
  };
}

/** One for all tools of a kind. */
const unknown = withKeys({}, {});
const unchanged: ReadonlyMap<string, Grammar> = new Map(
  [...builtIn].map(([name, facts]) => [name, withKeys(facts, {})]),
);
