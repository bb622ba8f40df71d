/** What a descriptor yields for one run. */
import type { Bind } from '../confine/types.ts';
import type { FileFormat } from './formats.ts';

/** A file of one run; `path` is relative to the harness HOME, or to the folder of session files. */
export type InjectedFile = {
  readonly path: string;
  readonly content: string;
  /** home: seeded into the harness HOME; session: made new in the session’s folder (0600), mounted read-only. */
  readonly where: 'home' | 'session';
  /** All but text is merged, in the HOME, into what is there. */
  readonly format: FileFormat;
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
