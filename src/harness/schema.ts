/** The descriptor's schema: what harnesses/NAME.yaml may say, and nothing else. */
import { z } from '../zod.ts';
import { clientConfigSchema } from './config-schema.ts';
import { dataFormats } from './formats.ts';
import { placeholders, type Placeholder } from './template.ts';

type Kind = Placeholder['kind'];
type Json = z.infer<ReturnType<typeof z.json>>;

const meaning: Readonly<Record<Kind, string>> = {
  place: 'a path',
  token: 'the token',
  env: 'a variable of the host',
  'env-tail': 'the end of a variable of the host',
  unknown: 'unknown',
};

/** A complaint about the first placeholder that is not one of `allowed`, or null. */
function misplaced(text: string, allowed: readonly Kind[], where: string): string | null {
  for (const { text: found, kind } of placeholders(text)) {
    if (kind === 'unknown') return `expected a known placeholder, not "${found}"`;
    if (!allowed.includes(kind)) return `expected no "${found}" in ${where}, for it is ${meaning[kind]}`;
  }
  return null;
}

const noNul = z.string().refine((text) => !text.includes('\0'), 'expected text without NUL');

function template(allowed: readonly Kind[], where: string): z.ZodType<string> {
  return noNul.superRefine((text, context) => {
    const message = misplaced(text, allowed, where);
    if (message !== null) context.addIssue({ code: 'custom', message });
  });
}

// A command line can be read by every user of the host, so no credential may come near it.
const argument = template(['place'], 'a command line');
const envValue = template(['place', 'token', 'env', 'env-tail'], 'a variable');

const envName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'expected the name of an environment variable');
const npmName = z
  .string()
  .regex(/^(@[a-z0-9][a-z0-9._-]*\/)?[a-z0-9][a-z0-9._-]*$/, 'expected the name of an npm package');
export const versionShape = /^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$/;

const relativePath = z
  .string()
  .refine(
    (text) =>
      text !== '' &&
      text.split('/').every((part) => part !== '' && part !== '.' && part !== '..' && !part.includes('\0')),
    'expected a relative path without "." and ".."',
  );

function strings(value: Json): string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap(strings);
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([key, item]) => [key, ...strings(item)]);
  return [];
}

const data = z.record(z.string(), z.json()).optional();
const contents = [...dataFormats, 'text'] as const;

const file = z
  .strictObject({
    /** home: merged into the harness HOME; session: made new for each run, mode 0600, mounted read-only. */
    where: z.enum(['home', 'session']),
    path: relativePath,
    json: data,
    toml: data,
    yaml: data,
    text: noNul.optional(),
  })
  .superRefine((entry, context) => {
    const given = contents.filter((key) => entry[key] !== undefined);
    const [key] = given;
    if (key === undefined || given.length > 1)
      return context.addIssue({
        code: 'custom',
        message: 'expected one of "json", "toml", "yaml" and "text"',
      });
    if (entry.where === 'session' && entry.path.includes('/'))
      context.addIssue({ code: 'custom', path: ['path'], message: 'expected a file name without "/"' });
    const allowed: Kind[] =
      entry.where === 'home' ? ['place', 'env-tail'] : ['place', 'token', 'env', 'env-tail'];
    for (const text of strings(entry[key] ?? '')) {
      const message = misplaced(text, allowed, `a file of the harness HOME`);
      if (message !== null) context.addIssue({ code: 'custom', path: [key], message });
    }
    return undefined;
  });

/** What is added to a run: argv after the command, variables, files. */
const layer = z.strictObject({
  args: z.array(argument).default([]),
  env: z.record(envName, envValue).default({}),
  files: z.array(file).default([]),
});
const emptyLayer = { args: [], env: {}, files: [] };

const npm = z.strictObject({
  package: npmName,
  /** Exact, and the one that the descriptor was checked with. */
  version: z.string().regex(versionShape, 'expected an exact version such as 1.2.3'),
  /** Registry integrity by package name, compared for exactly that version before any script runs. */
  integrity: z
    .record(npmName, z.string().regex(/^sha512-[A-Za-z0-9+/]{86}==$/, 'expected sha512-…'))
    .default({}),
  /** Packages whose install scripts run; no others do. */
  scripts: z.array(npmName).default([]),
  /** Whether those scripts get the private network; without it they have none. */
  scripts_network: z.boolean().default(false),
});

/** A client that npm alone cannot provide: the operator brings its file. */
const manual = z.strictObject({
  /** Its program: the name that a file gets, or the path in a folder. */
  file: relativePath,
  /** Where to get it, one sentence without a full stop. */
  how: z.string().min(1),
});

const fields = z.strictObject({
  version: z.literal(1),
  name: z.string().regex(/^[a-z][a-z0-9-]{0,31}$/, 'expected 1 to 32 of a-z, 0-9 and "-", a letter first'),
  title: z.string().min(1).max(80),
  install: z
    .strictObject({ npm: npm.optional(), manual: manual.optional() })
    .refine(
      (value) => (value.npm === undefined) !== (value.manual === undefined),
      'expected either "npm" or "manual"',
    )
    .optional(),
  /** argv inside the runtime; the first word is absolute once filled. Empty: only its config on the host is known. */
  command: z
    .array(argument)
    .refine(
      ([first]) => first === undefined || /^(\/|%\{(harness|node)\})/.test(first),
      'expected an absolute path first',
    )
    .default([]),
  /** The client's own config on the host. */
  config: clientConfigSchema.optional(),
  /** What is added to a run to see whether the client finds its gateway: `harness check`. */
  health: z
    .strictObject({ args: z.array(argument).default([]), env: z.record(envName, noNul).default({}) })
    .optional(),
  known_env: z.record(envName, z.enum(['secret', 'plain'])).default({}),
  run: layer.default(emptyLayer),
  when_env: z.record(envName, layer).default({}),
  yolo: layer.default(emptyLayer),
  /** argv that makes it answer one prompt and end; documentation for people and tests. */
  one_shot: z.array(z.string()).default([]),
  /** Whether it takes up a changed list of tools while it runs. */
  list_changed: z.boolean(),
});

export const descriptorSchema = fields.superRefine(({ command, config, install }, context) => {
  if (command.length > 0) return;
  if (config === undefined || install !== undefined)
    context.addIssue({
      code: 'custom',
      path: ['command'],
      message: 'expected at least one word, unless the descriptor is for "config" alone',
    });
});

export type DescriptorData = z.infer<typeof descriptorSchema>;
export type NpmInstall = z.infer<typeof npm>;
export type ManualInstall = z.infer<typeof manual>;
export type Layer = z.infer<typeof layer>;
export type FileSeed = z.infer<typeof file>;
