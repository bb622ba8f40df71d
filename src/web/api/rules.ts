/** The rules of one tool: looked at, tried while they are typed, and written into the config in place. */
import { createHash } from 'node:crypto';
import { parseConfig } from '../../config/load.ts';
import { lint } from '../../config/lint.ts';
import type { Snapshot } from '../../config/types.ts';
import { editFile, peek, textOf } from '../../edit/file.ts';
import { readSection, replaceSection, type SectionName } from '../../edit/policy-section.ts';
import { refusalError } from '../../edit/refuse.ts';
import type { Edited } from '../../edit/types.ts';
import { WraptoolError } from '../../errors.ts';
import { pastCalls } from '../../requests/review.ts';
import { WebRefusal } from '../refusal.ts';
import { stringOf, type Office, type Route, type Visit } from '../route.ts';

type Problem = { readonly message: string; readonly line: number | null };

/** More than any tool's rules have. */
const longest = 256 * 1024;

const names: readonly SectionName[] = ['allow', 'deny'];

export const ruleRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: /^tools$/,
    action: 'policy.read',
    run: async ({ load }) => {
      const { config, file } = await load();
      const tools = Object.entries(config.tools).map(([name, { binary, guard }]) => ({
        name,
        binary,
        guard,
      }));
      return { file, tools };
    },
  },
  {
    method: 'GET',
    path: /^tools\/([A-Za-z0-9][A-Za-z0-9._+-]{0,39})$/,
    action: 'policy.read',
    run: async (office, { parts: [tool = ''] }) => {
      const text = await configText(office);
      const sections = names.map((name) => {
        const section = readSection(text, tool, name);
        if (section.ok)
          return { name, text: section.text, line: section.line, indent: section.indent, why: null };
        if (section.code === 'unknown_tool') throw refusalError(section, office.config);
        return { name, text: '', line: null, indent: '', why: section.why };
      });
      const { problems, lints, examples } = judge(office, text, tool);
      return { tool, file: office.config, hash: hashOf(text), sections, problems, lints, examples };
    },
  },
  {
    method: 'POST',
    path: /^tools\/([A-Za-z0-9][A-Za-z0-9._+-]{0,39})\/check$/,
    // Whoever may not write has nothing to try, and trying takes the processor's time.
    action: 'policy.edit',
    run: async (office, visit) => {
      const { tool, section, text } = wishOf(visit);
      const before = await configText(office);
      const stale = hashOf(before) !== stringOf(visit.body, 'hash', 64);
      const edited = replaceSection(before, tool, section, text);
      if (!edited.ok)
        return { stale, diff: '', problems: [{ message: edited.why, line: null }], lints: [], past: null };
      const first = readSection(edited.text, tool, section);
      const judged = judge(office, edited.text, tool, first.ok ? first.line : 1);
      const old = judge(office, before, tool);
      const past =
        judged.snapshot === null || old.snapshot === null
          ? null
          : await pastCalls(office.dir, tool, old.snapshot.policy, judged.snapshot.policy);
      const known = new Set(old.lints.map(({ message }) => message));
      const lints = judged.lints.map((found) => ({ ...found, fresh: !known.has(found.message) }));
      return { stale, diff: edited.diff, problems: judged.problems, lints, examples: judged.examples, past };
    },
  },
  {
    method: 'POST',
    path: /^tools\/([A-Za-z0-9][A-Za-z0-9._+-]{0,39})\/save$/,
    action: 'policy.edit',
    run: async (office, visit) => {
      const { tool, section, text } = wishOf(visit);
      const hash = stringOf(visit.body, 'hash', 64);
      const outcome = await editFile(office.config, (before) => {
        if (before === null || hashOf(before) !== hash)
          throw new WraptoolError(
            'edit_conflict',
            'the file has changed since it was read: nothing was written',
            {
              hint: 'read it again; what you typed is still here to be copied',
            },
          );
        return proved(office, replaceSection(before, tool, section, text), tool);
      });
      if (!outcome.ok) throw refusalError(outcome, office.config);
      return { changed: outcome.changes.length > 0, diff: outcome.diff, hash: hashOf(outcome.text) };
    },
  },
];

/** What does not load is not written. */
function proved(office: Office, outcome: ReturnType<typeof replaceSection>, tool: string): typeof outcome {
  if (!outcome.ok) return outcome;
  const { problems } = judge(office, (outcome as Edited).text, tool);
  const [first] = problems;
  return first === undefined ? outcome : { ok: false, code: 'result_invalid', why: first.message };
}

function wishOf({ parts: [tool = ''], body }: Visit): { tool: string; section: SectionName; text: string } {
  const section = names.find((name) => name === body['section']);
  if (section === undefined) throw new WebRefusal(400, 'body_invalid', '"section" must be allow or deny');
  return { tool, section, text: stringOf(body, 'text', longest) };
}

type Judged = {
  readonly snapshot: Snapshot | null;
  readonly problems: readonly Problem[];
  readonly lints: readonly { readonly code: string; readonly message: string }[];
  /** Examples of the tool's rules, which were tried when it was loaded. */
  readonly examples: number;
};

/** `first`: the line that the section begins in; problems are told by their line in it. */
function judge({ config, env }: Office, text: string, tool: string, first = 1): Judged {
  try {
    const snapshot = parseConfig(Buffer.from(text), { file: config, real: config, env });
    const about = [`tools.${tool}`, `"${tool} `, `"${tool}"`];
    const lints = lint(snapshot)
      .filter(({ message }) => about.some((mark) => message.includes(mark)))
      .map(({ code, message }) => ({ code, message }));
    return { snapshot, problems: [], lints, examples: snapshot.policy.tools.get(tool)?.examples.length ?? 0 };
  } catch (error) {
    if (!(error instanceof WraptoolError)) throw error;
    const all = error.problems.length > 0 ? error.problems : [error.message];
    const problems = all.map((said) => placed(said, config, first));
    return { snapshot: null, problems, lints: [], examples: 0 };
  }
}

function placed(said: string, file: string, first: number): Problem {
  const plain = said.startsWith(`${file}:`) ? said.slice(file.length + 1) : said;
  const [whole, line, column] = /^(\d+)(?::(\d+))?:? */.exec(plain) ?? [];
  if (whole === undefined || line === undefined) return { message: said, line: null };
  const at = Number(line) - first + 1;
  return {
    message: `line ${at}${column === undefined ? '' : `, column ${column}`}: ${plain.slice(whole.length)}`,
    line: at,
  };
}

async function configText({ config }: Office): Promise<string> {
  const bytes = await peek(config);
  if (bytes === null) throw new WraptoolError('config_missing', `there is no config at "${config}"`);
  const text = textOf(bytes);
  if (typeof text !== 'string') throw refusalError(text, config);
  return text;
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');
