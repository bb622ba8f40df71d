/** The operator's page, as `serve` and `up` run it. Loaded only where the config has it. */
import type { Snapshot } from '../config/types.ts';
import type { Admin } from '../web/admin.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** Null where the config has no `admin`. Throws what keeps the page from being served. */
export async function startAdmin(options: {
  readonly snapshot: Snapshot;
  readonly configFile: string;
  readonly env: Env;
  readonly session: string | null;
  readonly fault: (error: unknown) => void;
}): Promise<Admin | null> {
  if (options.snapshot.config.admin === null) return null;
  const [{ openAdmin }, { requestRestart, previewRestart }] = await Promise.all([
    import('../web/admin.ts'),
    import('./restart-ask.ts'),
  ]);
  return openAdmin({
    ...options,
    restarts: {
      preview: previewRestart,
      ask: async (request, principal) => (await requestRestart(request, false, principal)).answer,
    },
  });
}
