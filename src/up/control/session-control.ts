/** What a session's supervisor answers on its control socket. */
import { WraptoolError } from '../../errors.ts';
import type { LaunchSpec, Started } from '../runtime/runtime.ts';
import type { Session } from '../session.ts';
import { recordEvent } from '../session-events.ts';
import { execHandler } from './exec-server.ts';
import { controlSocket, writeLine } from './line.ts';
import { restartHandler, type RestartSupervisor } from './restart-server.ts';
import { openControl, type Control, type Handler } from './server.ts';

export type SessionControl = Control & {
  /** From here on commands can be run in it. */
  ready(started: Started, spec: LaunchSpec, restart: RestartSupervisor): void;
};

/** Answer to `{do: "inspect"}`. */
export type LiveFacts = {
  /** Commands that run beside the harness now. */
  readonly commands: readonly (readonly string[])[];
};

export async function openSessionControl(
  session: Session,
  fault: (error: unknown) => void,
): Promise<SessionControl> {
  let exec: Handler | null = null;
  let restart: Handler | null = null;
  const started = (handler: Handler | null): Handler => {
    if (handler !== null) return handler;
    throw new WraptoolError('session_unreachable', `"${session.state.name}" is still starting`, {
      hint: 'try again when "wraptool ps" says that it is running',
    });
  };
  const commands = new Set<readonly string[]>();
  const control = await openControl(
    controlSocket(session.dir),
    {
      exec: async (...asked) => started(exec)(...asked),
      restart: async (...asked) => started(restart)(...asked),
      inspect: async (_request, connection) =>
        writeLine(connection, { ok: true, commands: [...commands] } satisfies LiveFacts & { ok: true }),
    },
    fault,
  );
  return {
    ...control,
    ready: (runtime, spec, supervisor) => {
      restart = restartHandler(supervisor);
      exec = execHandler(runtime, spec, {
        began: (command) => {
          commands.add(command);
          recordEvent(session.dir, 'exec', { command });
        },
        ended: (command, code) => {
          commands.delete(command);
          recordEvent(session.dir, 'exec ended', { command, code });
        },
      });
    },
  };
}
