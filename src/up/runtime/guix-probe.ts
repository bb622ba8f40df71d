/** Whether guix makes a container here, asked of guix itself: the daemon, the kernel and AppArmor all have a say. */
import { setTimeout } from 'node:timers/promises';
import { spawnTethered, tetherPlace, type TetherSpec } from '../../confine/tether.ts';
import type { Availability } from '../../confine/types.ts';
import { WraptoolError } from '../../errors.ts';
import { explainGuix } from './guix-errors.ts';
import { callerHome, guixSettings } from './guix-env.ts';
import { endContainer, firstProcess, Said } from './guix-process.ts';

/** The smallest container may have to be built first. */
const patienceMs = 120_000;
const alone = 'guix shell --container bash -- true';

export async function probeGuix(
  guix: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Availability> {
  const tether: TetherSpec = {
    ...{ binds: [], readOnly: [], links: [], folders: [], writable: [], shown: {}, terminal: false },
    env: { ...guixSettings(env), HOME: callerHome() ?? tetherPlace },
  };
  const argv = [guix, 'shell', '--container', '--no-cwd', 'bash', '--', '/bin/sh', '-c', ':'];
  try {
    const sandbox = await spawnTethered(tether, argv, { stdio: ['ignore', 'ignore', 'pipe'] });
    const said = new Said(sandbox.child.stderr!, () => undefined);
    const late = new AbortController();
    const over = setTimeout(patienceMs, null, { signal: late.signal }).catch(() => null);
    const code = await Promise.race([sandbox.exit.catch(() => 1), over]);
    late.abort();
    if (code === 0) return { ok: true, version: 'guix shell --container' };
    await endContainer(sandbox, await firstProcess(sandbox));
    if (code === null)
      return no(`it made no container within ${patienceMs / 1000} s`, `run "${alone}" once to see why`);
    const { reason, hint } = explainGuix(said.text, code);
    return no(reason, hint);
  } catch (error) {
    if (error instanceof WraptoolError)
      return no(error.message, error.hint ?? `run "${alone}" to see it alone`);
    throw error;
  }
}

function no(reason: string, hint: string): Availability {
  return { ok: false, reason, hint };
}
