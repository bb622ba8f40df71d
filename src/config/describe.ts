/** The schema as JSON Schema, as the reference page, and key by key. */
import { z } from '../zod.ts';
import { nearest } from '../policy/text.ts';
import { unwrap } from './problems.ts';
import { configSchema } from './schema.ts';

export type KeyFacts = {
  /** `tools.NAME.allow[].flags`: NAME stands for a key of the operator's, [] for each item of a list. */
  readonly key: string;
  readonly type: string;
  /** As JSON, or null where there is none. */
  readonly default: string | null;
  readonly required: boolean;
  readonly description: string;
};

export function jsonSchema(): Record<string, unknown> {
  const schema = z.toJSONSchema(configSchema, { io: 'input', target: 'draft-2020-12' });
  return { ...schema, title: 'wraptool config' };
}

/** Every key, in the order of the schema. */
export function allKeys(): readonly KeyFacts[] {
  return Object.entries(configSchema.shape).flatMap(([key, schema]) => keysOf(key, schema as z.ZodType));
}

function keysOf(key: string, schema: z.ZodType): KeyFacts[] {
  const own: KeyFacts = {
    key,
    type: typeText(schema),
    default: defaultOf(schema),
    required: !schema.safeParse(undefined).success,
    description: schema.description ?? '',
  };
  return [own, ...below(key, schema)];
}

function below(key: string, schema: z.ZodType): KeyFacts[] {
  const inner = bare(schema);
  if (inner instanceof z.ZodObject)
    return Object.entries(inner.shape).flatMap(([name, child]) =>
      keysOf(`${key}.${name}`, child as z.ZodType),
    );
  if (inner instanceof z.ZodRecord) {
    const value = inner.valueType as z.ZodType;
    return bare(value) instanceof z.ZodObject ? below(`${key}.${nameOf(key)}`, value) : [];
  }
  if (inner instanceof z.ZodArray) return below(`${key}[]`, inner.element as z.ZodType);
  return inner instanceof z.ZodUnion
    ? inner.options.flatMap((option) => below(key, option as z.ZodType))
    : [];
}

function nameOf(key: string): string {
  return key.endsWith('flag_constraints') ? 'FLAG' : 'NAME';
}

function bare(schema: z.ZodType): z.ZodType {
  const inner = unwrap(schema);
  return inner === schema ? schema : bare(inner);
}

function defaultOf(schema: z.ZodType): string | null {
  if (!(schema instanceof z.ZodDefault)) return null;
  return JSON.stringify(schema.parse(undefined));
}

function typeText(schema: z.ZodType): string {
  const inner = bare(schema);
  if (inner instanceof z.ZodLiteral)
    return [...inner.values].map((value) => JSON.stringify(value)).join(' or ');
  if (inner instanceof z.ZodEnum) return inner.options.join(' or ');
  if (inner instanceof z.ZodArray) return `list of ${typeText(inner.element as z.ZodType)}`;
  if (inner instanceof z.ZodRecord) return `map to ${typeText(inner.valueType as z.ZodType)}`;
  if (inner instanceof z.ZodUnion)
    return [...new Set(inner.options.map((option) => typeText(option as z.ZodType)))].join(' or ');
  if (inner instanceof z.ZodBoolean) return 'true or false';
  if (inner instanceof z.ZodNumber) return 'whole number';
  return inner instanceof z.ZodString ? 'string' : 'map';
}

/** Facts of one key and of those directly below it, or the key that was probably meant. */
export function explainKey(
  asked: string,
): { found: KeyFacts; below: readonly KeyFacts[] } | { meant: string | null } {
  const keys = allKeys();
  const found = keys.find(({ key }) => fits(key, asked));
  if (!found)
    return {
      meant: nearest(
        normal(asked),
        keys.map(({ key }) => key),
      ),
    };
  const depth = found.key.split('.').length;
  const children = keys.filter(
    ({ key }) => key !== found.key && key.startsWith(found.key) && /^[.[]/.test(key.slice(found.key.length)),
  );
  const least = Math.min(...children.map(({ key }) => key.split('.').length));
  return { found, below: children.filter(({ key }) => key.split('.').length === Math.max(least, depth + 1)) };
}

function normal(key: string): string {
  return key.replace(/\[\d*\]/g, '[]');
}

/** `tools.git.allow[0].flags` fits `tools.NAME.allow[].flags`; brackets may be left out. */
function fits(key: string, asked: string): boolean {
  const steps = key.replaceAll('[]', '').split('.');
  const given = asked.replace(/\[\d*\]/g, '').split('.');
  return (
    steps.length === given.length &&
    steps.every(
      (step, index) => step === given[index] || ((step === 'NAME' || step === 'FLAG') && given[index] !== ''),
    )
  );
}

/** docs/config.md, before formatting. */
export function configPage(): string {
  const lines = [
    '# Config keys',
    '',
    'Generated from the schema by `script/config-page.ts`. `wraptool config explain KEY` says the same; `wraptool config schema` prints the JSON Schema.',
    '',
    'One YAML file: `--config`, else `$WRAPTOOL_CONFIG`, else `$XDG_CONFIG_HOME/wraptool/config.yaml` (`~/.config` where that is unset). Unknown and duplicate keys, wrong types and impossible values are errors, all reported at once with file, line and column. `NAME` and `FLAG` stand for names of yours, `[]` for each item of a list.',
  ];
  let section = '';
  for (const facts of allKeys()) {
    const top = facts.key.split('.')[0] ?? '';
    if (top !== section)
      lines.push('', `## ${top}`, '', '| key | type | default | |', '| --- | --- | --- | --- |');
    section = top;
    lines.push(
      `| \`${facts.key}\` | ${cell(facts.type)} | ${facts.required ? 'required' : facts.default === null ? '' : `\`${facts.default}\``} | ${cell(facts.description)} |`,
    );
  }
  return `${lines.join('\n')}\n`;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}
