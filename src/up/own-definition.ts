/** The workspace's own definition for `up --devcontainer workspace`: approved as it is now, or not used. */
import { copyFolder, isApproved } from '../devcontainer/approval.ts';
import { inspect, type Inspection } from '../devcontainer/inspect.ts';
import { obstacles } from '../devcontainer/obstacles.ts';
import { WraptoolError } from '../errors.ts';
import type { UpOptions, UpWorld } from './options.ts';
import type { ApprovedDefinition } from './runtime/runtime.ts';

/** True where the operator asked for the workspace's own. Errors: usage. */
export function wantsOwn(options: Pick<UpOptions, 'devcontainer' | 'definition' | 'runtime'>): boolean {
  const { devcontainer, definition, runtime } = options;
  if (devcontainer === undefined) {
    if (definition === undefined) return false;
    throw new WraptoolError('usage', '--definition is for --devcontainer workspace', {
      hint: 'add --devcontainer workspace',
    });
  }
  if (devcontainer !== 'workspace')
    throw new WraptoolError('usage', `--devcontainer takes "workspace", not "${devcontainer}"`, {
      hint: 'without it the container is made from wraptool’s own definition',
    });
  if (runtime === undefined || runtime === 'auto' || runtime === 'devcontainer') return true;
  throw new WraptoolError('usage', `--devcontainer workspace cannot go with --runtime ${runtime}`, {
    hint: 'leave --runtime out',
  });
}

/**
 * Asks where there is somebody to ask. Errors: devcontainer_missing, devcontainer_refused, devcontainer_unapproved.
 */
export async function ownDefinition(
  workspace: string,
  options: Pick<UpOptions, 'definition'>,
  world: Pick<UpWorld, 'env' | 'cwd' | 'approve'>,
): Promise<ApprovedDefinition> {
  const found = await inspect(workspace, { definition: options.definition, cwd: world.cwd });
  if (found === null)
    throw new WraptoolError('devcontainer_missing', `"${workspace}" has no dev container definition`, {
      hint: 'leave --devcontainer out, or name the definition with --definition',
    });
  const problems = obstacles(found);
  if (problems.length > 0)
    throw new WraptoolError('devcontainer_refused', `"${found.name}" cannot be used as it is`, {
      problems,
      hint:
        found.origin === 'compose'
          ? 'write a definition with the "image" or the "build" of the one container that you work in, name it with --definition, and start the other services yourself; or leave --devcontainer out'
          : 'change what is listed, or leave --devcontainer out',
    });
  if (!(await isApproved(world.env, found)) && !((await world.approve?.(found)) ?? false))
    throw unapproved(found);
  return {
    copy: copyFolder(world.env, found, found.hash),
    name: found.name,
    hash: found.hash,
    given: found.given ?? {},
    files: found.files,
  };
}

function unapproved(found: Inspection): WraptoolError {
  return new WraptoolError('devcontainer_unapproved', `"${found.name}" is not approved as it is now`, {
    problems: found.findings
      .filter(({ severity }) => severity === 'host')
      .map(
        ({ code, json_path, file, detail }) =>
          `${code} ${file ?? ''}${json_path} ${detail.arg ?? ''}: ${detail.why}`,
      ),
    hint: 'wraptool devcontainer approve shows all of it and asks',
  });
}
