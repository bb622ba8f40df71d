/** Reads what the scripted model was told and says whether the demo showed what it is to show: exit 0 only then. */
import { readFileSync } from 'node:fs';
import type { Recorded, ToolOutcome } from '../test/support/mock-model.ts';

const denial = `DENIED: 'git push --force origin main' is not permitted.

Policy: flag '--force' is not in the allowlist for 'git push'.
Allowed flags for 'git push': --set-upstream

To request this capability, call the 'wraptool_request_capability' tool.`;

const requests = readFileSync(process.argv[2] ?? '/dev/stdin', 'utf8')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => JSON.parse(line) as Recorded);
const results = requests.at(-1)?.results ?? [];

function show(title: string, text: string): void {
  process.stdout.write(`\n   ${title}\n${text.replaceAll(/^/gm, '   | ')}\n`);
}

function outcome(tool: string): ToolOutcome | undefined {
  return results.find((result) => result.tool === `mcp__wraptool__${tool}`);
}

const status = outcome('git_status');
const push = outcome('git_push');
if (status) show('git_status, run on the host by the gateway, as the model got it:', status.text);
if (push) show('git push --force origin main, as the model got it:', push.text);

const missing = [
  status?.isError === false && /On branch main[^]*draft\.txt/.test(status.text)
    ? null
    : 'the output of git_status did not reach the model',
  push?.isError === true && push.text.includes(denial)
    ? null
    : 'the denial did not reach the model word for word',
].filter((line) => line !== null);
process.stdout.write(
  missing.length === 0 ? '\n   seen both\n' : missing.map((line) => `\n   NOT SEEN: ${line}\n`).join(''),
);
process.exitCode = missing.length === 0 ? 0 : 1;
