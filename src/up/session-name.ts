/** What a session may be called. */
import { WraptoolError } from '../errors.ts';

const reserved = new Set(['classify', 'policy', 'reconcile', 'all', 'fleet', 'any']);
export const nameShape = /^[a-z0-9][a-z0-9-]{0,31}$/;

/** Words of `wraptool restart`. */
export function isReserved(name: string): boolean {
  return reserved.has(name);
}

/** Throws WraptoolError usage. */
export function checkName(name: string): string {
  if (!nameShape.test(name))
    throw new WraptoolError('usage', `"${name}" cannot be a session name`, {
      hint: 'use 1 to 32 of a-z, 0-9 and "-", not "-" first',
    });
  if (isReserved(name))
    throw new WraptoolError('usage', `"${name}" is a reserved word and cannot be a session name`, {
      hint: 'choose another --name',
    });
  return name;
}
