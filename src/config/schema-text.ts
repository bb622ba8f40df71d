/** The forms of text that keys have. */
import { z } from '../zod.ts';
import { parseDuration, parseSize } from './scalars.ts';

const hiddenCharacters = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

export function text(expected: string, test: (value: string) => boolean): z.ZodString {
  return z
    .string()
    .refine((value) => test(value) && !hiddenCharacters.test(value), { error: `expected ${expected}` });
}

export function form(expected: string, pattern: RegExp): z.ZodString {
  return text(expected, (value) => pattern.test(value));
}

export const duration = text(
  'a duration such as 60s (ms, s, m, h; at most 24h)',
  (value) => parseDuration(value) !== null,
);
export const size = text(
  'a size such as 1MiB (B, KiB, MiB, GiB; at most 1GiB)',
  (value) => parseSize(value) !== null,
);
export const absolute = form('an absolute path, or one that begins with ~/', /^(?:\/|~\/|~$)/);
export const environmentName = form('the name of an environment variable', /^[A-Za-z_][A-Za-z0-9_]*$/);
export const concurrency = z
  .int({ error: 'expected a whole number from 1 to 1024' })
  .min(1, { error: 'expected a whole number from 1 to 1024' })
  .max(1024, { error: 'expected a whole number from 1 to 1024' });
