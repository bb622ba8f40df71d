/** zod's issues -> sentences that name the place, what was expected and what was probably meant. */
import { z } from '../zod.ts';
import type { ConfigPath } from '../policy/spec.ts';
import { nearest } from '../policy/text.ts';
import { AmbiguousWord, type Place, type YamlFile } from './yaml.ts';

type Issue = z.core.$ZodIssue;
export type Located = { readonly place: Place; readonly path: ConfigPath; readonly message: string };

export function locateIssues(issues: readonly Issue[], file: YamlFile, schema: z.ZodType): Located[] {
  return issues.flatMap((issue) => explainIssue(issue, [], file, schema));
}

function explainIssue(issue: Issue, base: ConfigPath, file: YamlFile, schema: z.ZodType): Located[] {
  const path: ConfigPath = [...base, ...(issue.path as (string | number)[])];
  if (issue.code === 'invalid_union') {
    const branch = bestBranch(issue.errors);
    if (branch) return branch.flatMap((inner) => explainIssue(inner, path, file, schema));
  }
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => {
      const meant = nearest(key, keysAt(schema, path));
      const hint = meant === null ? '' : ` (did you mean "${meant}"?)`;
      return { place: file.placeOfKey([...path, key]), path: [...path, key], message: `unknown key${hint}` };
    });
  if (issue.code === 'invalid_key') {
    const inner = issue.issues[0]?.message ?? 'expected another name';
    return [{ place: file.placeOfKey(path), path, message: inner }];
  }
  const value = valueAt(file.value, path);
  return [
    {
      place: file.placeOf(path),
      path,
      message: `${expected(issue)}${found(value, issue, () => file.spelling(path))}${meant(value, issue)}`,
    },
  ];
}

/** The alternative that the value was meant for: the one whose problems lie inside the value. */
function bestBranch(errors: readonly (readonly Issue[])[]): readonly Issue[] | null {
  const inside = errors.filter((branch) =>
    branch.every(
      (issue) => issue.path.length > 0 || issue.code === 'unrecognized_keys' || issue.code === 'custom',
    ),
  );
  return inside[0] ?? null;
}

function expected(issue: Issue): string {
  if (issue.message.startsWith('expected')) return issue.message;
  if (issue.code === 'invalid_type') return `expected ${typeName(issue.expected)}`;
  return issue.message.slice(0, 1).toLowerCase() + issue.message.slice(1);
}

function typeName(expectedType: string): string {
  const names: Readonly<Record<string, string>> = {
    object: 'a map',
    record: 'a map',
    array: 'a list',
    string: 'a string',
    boolean: 'true or false',
    number: 'a number',
    int: 'a whole number',
  };
  return names[expectedType] ?? expectedType;
}

function found(value: unknown, issue: Issue, spelling: () => string): string {
  if (value === undefined) return issue.code === 'invalid_type' ? ', the key is missing' : '';
  if (value === null) return ', found nothing';
  if (value instanceof AmbiguousWord)
    return `, found ${value.text}, which some read as another type: quote it`;
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint')
    return issue.code === 'invalid_type' || issue.code === 'invalid_union'
      ? `, found the ${typeof value === 'boolean' ? 'boolean' : 'number'} ${spelling()}${wantsText(issue) ? ': quote it' : ''}`
      : `, found ${spelling()}`;
  if (Array.isArray(value)) return ', found a list';
  if (typeof value === 'object') return ', found a map';
  return typeof value === 'string' ? `, found "${value.length > 60 ? `${value.slice(0, 60)}…` : value}"` : '';
}

function wantsText(issue: Issue): boolean {
  return issue.code === 'invalid_type' && issue.expected === 'string';
}

function meant(value: unknown, issue: Issue): string {
  if (issue.code !== 'invalid_value' || typeof value !== 'string') return '';
  const near = nearest(
    value,
    issue.values.filter((one): one is string => typeof one === 'string'),
  );
  return near === null ? '' : ` (did you mean "${near}"?)`;
}

function valueAt(root: unknown, path: ConfigPath): unknown {
  let value = root;
  for (const step of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Record<string | number, unknown>)[step];
  }
  return value;
}

/** The schemas that a value at a path may have; wrappers taken off, unions spread. */
export function schemasAt(schema: z.ZodType, path: ConfigPath): z.ZodType[] {
  let current = spread(schema);
  for (const step of path) current = current.flatMap((one) => spread(child(one, step)));
  return current;
}

function spread(schema: z.ZodType | null): z.ZodType[] {
  if (schema === null) return [];
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((option) => spread(option as z.ZodType));
  const inner = unwrap(schema);
  return inner === schema ? [schema] : spread(inner);
}

export function unwrap(schema: z.ZodType): z.ZodType {
  const wrapped =
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault;
  return wrapped ? (schema.unwrap() as z.ZodType) : schema;
}

function child(schema: z.ZodType, step: string | number): z.ZodType | null {
  if (schema instanceof z.ZodObject) return (schema.shape as Record<string, z.ZodType>)[step] ?? null;
  if (schema instanceof z.ZodRecord) return schema.valueType as z.ZodType;
  if (schema instanceof z.ZodArray) return schema.element as z.ZodType;
  return null;
}

function keysAt(schema: z.ZodType, path: ConfigPath): string[] {
  return schemasAt(schema, path).flatMap((one) => (one instanceof z.ZodObject ? Object.keys(one.shape) : []));
}
