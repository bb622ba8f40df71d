/** An approved definition in a session: what it grants, and what its commands see. */
import path from 'node:path';
import { holds } from '../../devcontainer/ground.ts';
import { readJsonc } from '../../devcontainer/jsonc.ts';
import { own, isObject, type JsonObject } from '../../devcontainer/values.ts';
import { WraptoolError } from '../../errors.ts';
import { grants, withContainerEnv, type Grants } from './grants.ts';
import { inside, type ApprovedDefinition, type LaunchSpec } from './runtime.ts';

type Env = Readonly<Record<string, string | undefined>>;

export function grantsOf(approved: ApprovedDefinition, spec: LaunchSpec, env: Env): Grants {
  const workspace = spec.workspace.path;
  const bytes = (name: string): Buffer | null => {
    const entry = approved.files.get(name);
    return entry !== undefined && 'bytes' in entry ? entry.bytes : null;
  };
  const relative = (file: string): string => path.relative(workspace, path.resolve(workspace, file));
  const made = grants({
    asked: [approved.given, ...manifests(approved, bytes)],
    values: { workspace, containerFolder: workspace, env },
    copied: (file) => {
      const name = relative(file);
      if (bytes(name) !== null) return path.join(approved.copy, name);
      if (!path.isAbsolute(file) || holds(workspace, path.resolve(file)))
        throw new WraptoolError('devcontainer_refused', `"${file}" is not among the approved files`, {
          hint: 'name a plain file that is in the workspace when the definition is approved',
        });
      return file;
    },
    text: (file) => bytes(relative(file))?.toString('utf8') ?? null,
  });
  const { gpu } = (
    isObject(approved.given['hostRequirements']) ? approved.given['hostRequirements'] : {}
  ) as {
    gpu?: unknown;
  };
  return gpu === true ? { ...made, args: [...made.args, '--gpus=all'] } : made;
}

/** Of the local features that the definition names, those that they need included. */
function manifests(
  approved: ApprovedDefinition,
  bytes: (name: string) => Buffer | null,
): readonly JsonObject[] {
  const found = new Map<string, JsonObject>();
  const open = namesOf(own(approved.given, 'features'));
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    const file = path.join(path.dirname(approved.name), name, 'devcontainer-feature.json');
    const text = bytes(file)?.toString('utf8');
    if (text === undefined || found.has(file)) continue;
    const { value } = readJsonc(text);
    if (!isObject(value)) continue;
    found.set(file, value);
    open.push(...namesOf(own(value, 'dependsOn')));
  }
  return [...found.values()];
}

function namesOf(features: unknown): string[] {
  return isObject(features as never)
    ? Object.keys(features as JsonObject).filter((name) => name.startsWith('.'))
    : [];
}

/**
 * Environment of what runs in the container: the definition's variables under the session's own, and the image's PATH
 * after ours. `container`: `NAME=VALUE` as the container has them.
 */
export function environment(
  spec: LaunchSpec,
  granted: Grants,
  container: readonly string[],
): Readonly<Record<string, string>> {
  const has = Object.fromEntries(
    container.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
  );
  const given = withContainerEnv(granted.env, has);
  const made = { ...given, ...spec.env };
  const search = given['PATH'] ?? has['PATH'];
  return search === undefined ? made : { ...made, PATH: `${path.dirname(inside.node)}:${search}` };
}
