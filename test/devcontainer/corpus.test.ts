/** The handed workspaces by the rules of their README: all that must be there, and nothing else that reaches the host. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { inspect } from '../../src/devcontainer/inspect.ts';
import type { Finding } from '../../src/devcontainer/types.ts';
import { cases, make, type Expected } from './corpus.ts';

const where = (one: Expected | Finding) => `${one.file ?? ''}#${one.json_path}`;

function meets(found: Finding, wanted: Expected): boolean {
  return where(found) === where(wanted) && [wanted.code, ...(wanted.code_ok ?? [])].includes(found.code);
}

test('all 134 workspaces are there', () => assert.equal(cases.length, 134));

describe('inspect', () => {
  for (const one of cases)
    test(`${one.id} ${one.kind}: ${one.what}`, async (t) => {
      const made = await make(one);
      t.after(made.remove);
      const found = await inspect(made.workspace, { definition: one.config ?? undefined, cwd: '/' });
      const findings = found?.findings ?? [];
      const allowed = [...one.findings, ...(one.may ?? [])];
      assert.deepEqual(
        {
          missing: one.findings.filter((wanted) => !findings.some((finding) => meets(finding, wanted))),
          wrongSeverity: one.findings.filter(
            (wanted) =>
              !findings.some(
                (finding) =>
                  meets(finding, wanted) &&
                  [wanted.severity, ...(wanted.severity_ok ?? [])].includes(finding.severity),
              ),
          ),
          beside: findings.filter(
            (finding) => finding.severity === 'host' && !allowed.some((wanted) => meets(finding, wanted)),
          ),
        },
        { missing: [], wrongSeverity: [], beside: [] },
      );
      if (one.kind === 'ordinary') assert.ok(findings.every(({ severity }) => severity !== 'host'));
    });
});
