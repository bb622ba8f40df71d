/** Reading of JSON whose shape is not known. */
import type { Body, Reply } from './types.ts';

export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function object(value: unknown): Body {
  return typeof value === 'object' && value !== null ? (value as Body) : {};
}

export function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function objects(value: unknown): Body[] {
  return list(value).map(object);
}

export function isType(type: string): (block: Body) => boolean {
  return (block) => block['type'] === type;
}

/** Content as text: a string, or the text parts of a list. */
export function plain(content: unknown): string {
  if (typeof content === 'string') return content;
  return objects(content)
    .map((part) => text(part['text']))
    .join('\n');
}

const asideMark = '(mock model: ';

export function spoken(reply: Reply): string {
  if ('text' in reply) return reply.text;
  return 'aside' in reply ? `${asideMark}${reply.aside})` : '';
}

/** Whether the assistant said an aside, which is no turn of the script: a client may ask before it has its tools. */
export function isAside(said: string): boolean {
  return said.startsWith(asideMark);
}
