/** The real file system, with a hook before each call: to die there, to fail there, or to meddle. */
import fs from 'node:fs/promises';
import type { Disk } from '../../src/edit/lock.ts';

/** `call` is the function’s name, `handle.` before those of an open file. */
export type Hook = (call: string, args: readonly unknown[]) => void | Promise<void>;

export function faultyDisk(hook: Hook): Disk {
  return hooked(fs, '', hook);
}

function hooked<T extends object>(target: T, prefix: string, hook: Hook): T {
  return new Proxy(target, {
    get(real, name) {
      const value: unknown = Reflect.get(real, name, real);
      if (typeof value !== 'function') return value;
      return async (...args: unknown[]): Promise<unknown> => {
        // A handle that could not be closed would be a leak of the test, not of what it tests.
        if (name === 'close') await (value as () => Promise<void>).apply(real);
        await hook(prefix + String(name), args);
        if (name === 'close') return undefined;
        const result: unknown = await (value as (...given: unknown[]) => unknown).apply(real, args);
        return name === 'open' ? hooked(result as object, 'handle.', hook) : result;
      };
    },
  });
}

/** A disk that does `act` at the call of that number, and the count of calls so far. */
export function atCall(number: number, act: () => void): { disk: Disk; calls: string[] } {
  const calls: string[] = [];
  const disk = faultyDisk((call) => {
    calls.push(call);
    if (calls.length === number) act();
  });
  return { disk, calls };
}

export function failure(code: string): () => never {
  return () => {
    throw Object.assign(new Error(`${code}: made up`), { code });
  };
}
