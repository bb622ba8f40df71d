/** Features: code that the build runs as root, and what it asks of the container. */
import path from 'node:path';
import { readJsonc, type Json } from './jsonc.ts';
import { judgeAsked, type Judged } from './judge-container.ts';
import { isObject, type JsonObject } from './values.ts';
import { pointer, type Finding, type Ground } from './types.ts';

export type Local = {
  /** Folder of the feature, absolute as spelled. */
  readonly folder: string;
};

export type FeatureJudged = { readonly findings: readonly Finding[]; readonly local: readonly Local[] };

const manifest = 'devcontainer-feature.json';
const mostLinked = 64;

/** `features` of the definition, and what those features depend on. */
export async function judgeFeatures(
  features: Json | undefined,
  base: { readonly folder: string; readonly ground: Ground; readonly compose: boolean },
): Promise<FeatureJudged> {
  const findings: Finding[] = [];
  const local = new Map<string, Local>();
  const open: { names: readonly string[]; at: string; file?: string }[] = [
    { names: namesOf(features), at: '/features' },
  ];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const name of next.names) {
      const place = {
        json_path: `${next.at}${pointer(name)}`,
        ...(next.file === undefined ? {} : { file: next.file }),
      };
      if (!isLocal(name)) {
        findings.push({
          ...place,
          code: 'feature_remote',
          severity: 'host',
          detail: {
            arg: name,
            why: 'fetched from an address of the author’s choice, and can ask for anything',
          },
        });
        continue;
      }
      const folder = path.resolve(base.folder, name);
      const known = local.has(folder);
      const judged = await judgeLocal(name, folder, base.ground);
      findings.push(...judged.map((finding) => ({ ...finding, ...place })));
      if (judged.some(({ severity }) => severity === 'host') || known || local.size >= mostLinked) continue;
      local.set(folder, { folder });
      const asked = await asks(folder, base);
      findings.push(...asked.findings);
      if (asked.needs.length > 0) open.push({ names: asked.needs, at: '/dependsOn', file: asked.file });
    }
  }
  return { findings, local: [...local.values()] };
}

/** As the CLI tells them apart. */
function isLocal(name: string): boolean {
  return /^\.{1,2}\//.test(name) || name.startsWith('/');
}

function namesOf(features: Json | undefined): readonly string[] {
  return isObject(features) ? Object.keys(features) : [];
}

async function judgeLocal(
  name: string,
  folder: string,
  ground: Ground,
): Promise<readonly Pick<Finding, 'code' | 'severity' | 'detail'>[]> {
  const where = name.startsWith('/') ? 'outside' : await ground.where(folder);
  const detail = (why: string) => ({ arg: name, why });
  const runs = detail('code of the workspace that runs as root in the build');
  if (where === 'inside') return [{ code: 'feature_local', severity: 'info', detail: runs }];
  if (where === 'outside')
    return [{ code: 'feature_local', severity: 'host', detail: detail('a folder outside of the workspace') }];
  return [
    { code: 'feature_local', severity: 'info', detail: runs },
    { code: 'symlink_outside', severity: 'host', detail: detail('a link leads out of the workspace') },
  ];
}

/** What a local feature's manifest says; nothing where it says nothing that can be read. */
export async function readManifest(folder: string, ground: Ground): Promise<JsonObject> {
  const bytes = await ground.read(path.join(folder, manifest));
  const value = bytes === null ? null : readJsonc(bytes.toString('utf8')).value;
  return isObject(value) ? value : {};
}

type Asked = Judged & { readonly needs: readonly string[]; readonly file: string };

async function asks(
  folder: string,
  { ground, compose }: { ground: Ground; compose: boolean },
): Promise<Asked> {
  const full = path.join(folder, manifest);
  const file = path.relative(ground.workspace, full);
  const where = await ground.where(full);
  const problem = (code: 'symlink_outside' | 'parse_error', why: string): Finding => ({
    code,
    json_path: '',
    severity: 'host',
    file,
    detail: { why },
  });
  if (where !== 'inside')
    return { findings: [problem('symlink_outside', 'a link leads out of the workspace')], needs: [], file };
  const bytes = await ground.read(full);
  if (bytes === null) return { findings: [], needs: [], file };
  const { value, faults } = readJsonc(bytes.toString('utf8'));
  const wrong = faults.length > 0 ? [problem('parse_error', faults[0] as string)] : [];
  if (!isObject(value)) return { findings: wrong, needs: [], file };
  const asked = await judgeAsked(value, { ground, compose, feature: true });
  return {
    findings: [...wrong, ...asked.findings.map((finding) => ({ ...finding, file }))],
    needs: namesOf(value['dependsOn']),
    file,
  };
}
