/** What a descriptor yields for one run. */
import type { Bind } from '../confine/types.ts';

/** A file to be written into the harness HOME (path relative to it) or mounted read-only (absolute path inside). */
export type InjectedFile = {
  readonly path: string;
  readonly content: string;
  /** home: seeded into the harness HOME; session: written to the session's folder (0600) and mounted read-only. */
  readonly where: 'home' | 'session';
};

export type Injection = {
  /** argv inside, absolute, harness arguments included. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly secretEnv: ReadonlySet<string>;
  readonly files: readonly InjectedFile[];
};

/** An installed harness on the host. */
export type Provided = {
  readonly version: string;
  /** Host folder, mounted read-only at inside.harness. */
  readonly dir: string;
  readonly readOnly: readonly Bind[];
};
