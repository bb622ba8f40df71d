/** An entry in the config of another program, whatever its format: set, and taken out again. */
import { readJsonValue, setJson } from './jsonc.ts';
import { removeJson } from './json-remove.ts';
import type { Plan } from './plan.ts';
import { refusing } from './refuse.ts';
import { byteOrderMark, splice, unchanged } from './splice.ts';
import { readTomlValue } from './toml-read.ts';
import { removeToml } from './toml-remove.ts';
import { setToml } from './toml.ts';
import type { Format, Grammar, Json, Outcome } from './types.ts';
import { readYamlValue } from './yaml-read.ts';
import { removeYaml } from './yaml-remove.ts';
import { setYaml } from './yaml.ts';

/** What a client’s parser takes where its descriptor says nothing: the letter of the format. */
function defaultGrammar(format: Format): Grammar {
  return { comments: format === 'jsonc', trailingCommas: format === 'jsonc' };
}

/**
 * The file’s text with `value` at `path`, whose last key is the entry’s own and whose others are the containers. Text
 * that says so already is left as it is. An empty text is a file that does not exist yet or is empty.
 */
export function setEntry(
  format: Format,
  text: string,
  path: readonly string[],
  value: Json,
  grammar: Grammar = defaultGrammar(format),
): Outcome {
  const finders = {
    json: (body: string) => setJson(body, path, value, grammar),
    jsonc: (body: string) => setJson(body, path, value, grammar),
    toml: (body: string) => setToml(body, path, value),
    yaml: (body: string) => setYaml(body, path, value),
  };
  return edited(format, text, grammar, finders[format]);
}

/**
 * The text without the entry at `path`. Of the containers the inmost `made` go too if nothing else is in them: those
 * that setEntry had to make. A text without the entry is left as it is.
 */
export function removeEntry(
  format: Format,
  text: string,
  path: readonly string[],
  made: number,
  grammar: Grammar = defaultGrammar(format),
): Outcome {
  const finders = {
    json: (body: string) => removeJson(body, path, made, grammar),
    jsonc: (body: string) => removeJson(body, path, made, grammar),
    toml: (body: string) => removeToml(body, path),
    yaml: (body: string) => removeYaml(body, path, made),
  };
  return edited(format, text, grammar, finders[format]);
}

/** How many of the containers of `path` are missing, so that setEntry would make them. */
export function missingContainers(
  format: Format,
  text: string,
  path: readonly string[],
  grammar: Grammar = defaultGrammar(format),
): number {
  let value = reader(format, grammar)(withoutMark(text));
  const containers = path.slice(0, -1);
  for (const [index, key] of containers.entries()) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key))
      return containers.length - index;
    value = (value as Record<string, unknown>)[key];
  }
  return 0;
}

function edited(
  format: Format,
  text: string,
  grammar: Grammar,
  find: (body: string) => Plan | null,
): Outcome {
  const body = withoutMark(text);
  return refusing(body, () => {
    const plan = find(body);
    return plan === null
      ? unchanged(text)
      : splice(text, plan.changes, { ...plan, read: reader(format, grammar) });
  });
}

function reader(format: Format, grammar: Grammar): (text: string) => unknown {
  if (format === 'toml') return readTomlValue;
  if (format === 'yaml') return readYamlValue;
  return (text) => readJsonValue(text, grammar);
}

function withoutMark(text: string): string {
  return text.startsWith(byteOrderMark) ? text.slice(byteOrderMark.length) : text;
}
