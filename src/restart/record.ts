/** What is kept of a namespace over reboots: that it was there, and each time that its gateway was ended by hand. */
import { z } from '../zod.ts';
import type { Marker, Namespace } from './types.ts';

export type NamespaceRecord = Namespace & {
  readonly version: 1;
  /** ISO time of the first record. */
  readonly since: string;
  readonly markers: readonly Marker[];
};

/** A session's name, and behind a slash a server's. */
export const namespaceShape =
  /^[a-z0-9][a-z0-9-]{0,31}(?:\/(?!.*__)[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,46}[A-Za-z0-9.-])?)?$/;

const marker = z.strictObject({
  id: z.string().regex(/^[0-9a-f]{16}$/),
  namespace: z.string().regex(namespaceShape),
  at: z.iso.datetime(),
  reason: z.string().max(100),
  detail: z.string().max(4000),
  cleared: z
    .strictObject({ at: z.iso.datetime(), by: z.string().max(200), note: z.string().max(4000) })
    .nullable(),
});

const record = z.strictObject({
  version: z.literal(1),
  name: z.string().regex(namespaceShape),
  kind: z.enum(['session', 'server', 'serve']),
  since: z.iso.datetime(),
  markers: z.array(marker),
});

/** The record in a file's text; null where it is none. */
export function parseNamespaceRecord(text: string): NamespaceRecord | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
  const parsed = record.safeParse(value);
  return parsed.success ? parsed.data : null;
}

export function renderNamespaceRecord(one: NamespaceRecord): string {
  return `${JSON.stringify(one, null, 2)}\n`;
}
