/** What a descriptor says about the client's own config on the host: where it lies, and how our server is written there. */
import { z } from '../zod.ts';
import { placeholders } from './template.ts';

export const transports = ['http', 'sse', 'stdio'] as const;
export type Transport = (typeof transports)[number];

/** What an entry may be filled with: all of the host, none of a session. */
const entryPlaces: ReadonlySet<string> = new Set(['%{url}', '%{token}', '%{node}', '%{relay}']);

const folder = z
  .string()
  .regex(
    /^(~|\$[A-Za-z_][A-Za-z0-9_]*)(\/[^/\0]+)*$/,
    'expected a folder that begins with "~" or with a variable, such as "$XDG_CONFIG_HOME/client"',
  )
  .refine(
    (text) => !text.split('/').some((part) => part === '.' || part === '..'),
    'expected no "." or ".."',
  );

const fileName = z
  .string()
  .refine(
    (text) => text !== '' && text !== '.' && text !== '..' && !/[/\0]/.test(text),
    'expected a file name',
  );

type Json = z.infer<ReturnType<typeof z.json>>;

const entry = z.record(z.string(), z.json()).superRefine((value, context) => {
  for (const text of strings(value))
    for (const { text: found } of placeholders(text))
      if (!entryPlaces.has(found))
        context.addIssue({
          code: 'custom',
          message: `expected none but ${[...entryPlaces].join(', ')}, not "${found}"`,
        });
});

function strings(value: Json): string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap(strings);
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([key, item]) => [key, ...strings(item)]);
  return [];
}

export const clientConfigSchema = z
  .strictObject({
    /** The first whose variable is set to an absolute path counts. */
    folders: z.array(folder).min(1),
    /** The same on macOS, where it is elsewhere. */
    macos: z.array(folder).min(1).optional(),
    /** The first that is there is written, else the first is made. */
    names: z.array(fileName).min(1),
    format: z.enum(['json', 'jsonc', 'toml', 'yaml']),
    /** What the client's parser takes beyond JSON; by default what the format says. */
    comments: z.boolean().optional(),
    trailing_commas: z.boolean().optional(),
    /** The keys that lead to the map of servers. */
    path: z.array(z.string().min(1)).min(1),
    /** The client's name for an entry by transport; one that is absent is not offered. */
    http: entry.optional(),
    sse: entry.optional(),
    stdio: entry.optional(),
    /** What is left to do by hand afterwards, one sentence without a full stop. */
    afterwards: z.string().min(1).optional(),
  })
  .superRefine((value, context) => {
    if (transports.every((name) => value[name] === undefined))
      context.addIssue({ code: 'custom', message: 'expected at least one of "http", "sse" and "stdio"' });
    if (!value.format.startsWith('json'))
      for (const key of ['comments', 'trailing_commas'] as const)
        if (value[key] !== undefined)
          context.addIssue({ code: 'custom', path: [key], message: `expected it only for json and jsonc` });
  });

export type ClientConfig = z.infer<typeof clientConfigSchema>;
