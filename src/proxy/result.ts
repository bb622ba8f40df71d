/** What a server answered to `tools/call`, judged and scrubbed; every kind of content and unknown members survive. */
import { isUtf8 } from 'node:buffer';
import { isObject } from './message.ts';
import { UpstreamFailure, type ContentBlock, type UpstreamResult } from './types.ts';

type ScrubText = (text: string) => string;

/** @throws UpstreamFailure (protocol) for what is no tool result. */
export function readResult(answer: unknown, scrub: ScrubText): UpstreamResult {
  if (!isObject(answer)) throw malformed('it is no object');
  const { content = [], structuredContent, isError = false, ...rest } = answer;
  if (!Array.isArray(content) || !content.every(isBlock)) throw malformed("'content' is no list of blocks");
  if (structuredContent !== undefined && !isObject(structuredContent))
    throw malformed("'structuredContent' is no object");
  if (typeof isError !== 'boolean') throw malformed("'isError' is no boolean");
  return {
    ...(scrubStrings(rest, scrub) as object),
    content: content.map((block) => scrubStrings(block, scrub) as ContentBlock),
    ...(structuredContent === undefined
      ? {}
      : { structuredContent: scrubStrings(structuredContent, scrub) as Readonly<Record<string, unknown>> }),
    isError,
  };
}

/** A tool error in the server's place. */
export function toolError(text: string): UpstreamResult {
  return { content: [{ type: 'text', text }], isError: true };
}

/** The same value with every string (names of members too) scrubbed; bytes in base64 only where they are text. */
export function scrubStrings(value: unknown, scrub: ScrubText): unknown {
  if (typeof value === 'string') return scrub(value);
  if (Array.isArray(value)) return value.map((item) => scrubStrings(item, scrub));
  if (!isObject(value)) return value;
  const bytes = bytesMember(value);
  // fromEntries defines members, so that one called __proto__ is a member like any other.
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      if (typeof member !== 'string') return [scrub(name), scrubStrings(member, scrub)];
      return [scrub(name), name === bytes ? scrubBytes(member, scrub) : scrubMember(name, member, scrub)];
    }),
  );
}

/** A name such as "password" makes a secret of a value that shows nothing by itself. */
function scrubMember(name: string, value: string, scrub: ScrubText): string {
  const text = `${JSON.stringify(name)}: ${JSON.stringify(value)}`;
  const clean = scrub(text);
  return scrub(clean === text ? value : valueIn(clean));
}

function valueIn(member: string): string {
  try {
    return Object.values(JSON.parse(`{${member}}`) as Record<string, string>)[0]!;
  } catch (error) {
    if (error instanceof SyntaxError) return '[redacted]';
    throw error;
  }
}

/** Where MCP carries bytes: `data` of an image or audio block, `blob` of a resource. */
function bytesMember(value: Readonly<Record<string, unknown>>): 'data' | 'blob' | null {
  if (value['type'] === 'image' || value['type'] === 'audio') return 'data';
  return typeof value['uri'] === 'string' ? 'blob' : null;
}

function scrubBytes(base64: string, scrub: ScrubText): string {
  if (base64.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(base64)) return scrub(base64);
  const bytes = Buffer.from(base64, 'base64');
  if (!isUtf8(bytes)) return base64;
  const text = bytes.toString('utf8');
  const clean = scrub(text);
  return clean === text ? base64 : Buffer.from(clean).toString('base64');
}

function isBlock(value: unknown): boolean {
  return isObject(value) && typeof value['type'] === 'string';
}

function malformed(why: string): UpstreamFailure {
  return new UpstreamFailure('protocol', `sent a malformed tool result: ${why}`);
}
