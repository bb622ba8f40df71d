/** The host's service manager, asked for one thing by a fixed command line. */
import { spawn } from 'node:child_process';
import { WraptoolError } from '../errors.ts';

const longestMs = 30_000;

/** Resolves when systemd has it in hand: the unit may be our own, and end us. Error: gateway_failed with what it said. */
export async function systemctl(
  verb: 'restart' | 'reload',
  unit: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  const child = spawn('systemctl', ['--no-block', verb, '--', unit], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env,
    timeout: longestMs,
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    if (said.length < 2_000) said += text;
  });
  const how = await new Promise<string | null>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) =>
      resolve(code === 0 ? null : `${signal ?? `exit code ${code}`} ${said.trim()}`.trim()),
    );
  });
  if (how !== null)
    throw new WraptoolError('gateway_failed', `the host did not ${verb} the unit: ${how}`, {
      hint: "look at the unit's own log",
    });
}
