/** What the forms of a usage say: flags that stand in them, subcommands that stand first, whether there are commands. */
import { closing } from './text.ts';
import type { FlagEntry } from './types.ts';
import { abbreviated, bracketFlags, readFlag, type Item } from './usage-flags.ts';
import type { Usage } from './usage.ts';

export type UsageFacts = {
  /** Words of the program itself: `git remote`. */
  readonly program: readonly string[];
  readonly subcommands: readonly string[];
  readonly flags: readonly FlagEntry[];
  /** A place where a command is expected: `<command>`, `COMMAND`. */
  readonly takesCommand: boolean;
  /** Words to choose from in braces, as argparse writes them. */
  readonly choices: ReadonlySet<string>;
};

/** A word with an underscore is an operand's name. */
const literal = /^[a-z0-9][A-Za-z0-9.-]*$/;
const commandWord =
  /^[[<{]*(?:sub-?)?(?:commands?|cmd|verb|action|function|object|operation|topic|service)(?:[ _-]?name)?[\]>}.]*$/i;

export function readUsage({ forms, definitions, explained, blocks }: Usage): UsageFacts {
  const parsed = forms.map((form) => items(form));
  const program = programWords(parsed);
  const subcommands: string[] = [];
  const flags: FlagEntry[] = [];
  let takesCommand = false;
  const choices = new Set<string>();
  const rests = parsed.map((form) => behindProgram(form, program));
  const direct = directForms(rests);
  for (const [index, rest] of rests.entries()) {
    const head = readHead(rest, forms.length, direct, definitions);
    subcommands.push(...head.subcommands);
    for (const choice of head.choices) choices.add(choice);
    if (!explained.has(index)) flags.push(...head.flags);
    takesCommand ||= head.takesCommand;
  }
  for (const block of blocks) flags.push(...items(block).flatMap(({ text }) => bracketFlags(text)));
  for (const [name, body] of definitions) if (/OPTION|FLAG/.test(name)) flags.push(...abbreviated(body));
  return { program, subcommands: [...new Set(subcommands)], flags, takesCommand, choices };
}

/** How many forms name a command first; forms of `[--quiet] add`, too, where they name several. */
function directForms(rests: readonly (readonly Item[])[]): number {
  const direct = rests.filter(([first]) => first !== undefined && namesCommand(first)).length;
  const behindFlags = new Set(
    rests
      .map((rest) => rest.find(({ text }) => !/^\[\s*-/.test(text))?.text ?? '')
      .filter((text) => literal.test(text)),
  );
  return Math.max(direct, behindFlags.size >= 3 ? behindFlags.size : 0);
}

function namesCommand({ text, bracket }: Item): boolean {
  return bracket ? alternatives(text).some((word) => literal.test(word)) : literal.test(text);
}

const maxItems = 400;

function items(form: string): Item[] {
  const out: Item[] = [];
  let at = 0;
  let balanced = true;
  while (at < form.length && out.length < maxItems) {
    if (form[at] === ' ') {
      at++;
      continue;
    }
    let end = at;
    const bracket = '[({'.includes(form[at]!);
    while (end < form.length && form[end] !== ' ') {
      const close: number = balanced && '[<{('.includes(form[end]!) ? closing(form, end) : end + 1;
      balanced &&= close >= 0;
      end = close < 0 ? end + 1 : close;
    }
    out.push({ text: form.slice(at, end), bracket });
    at = end;
  }
  return out;
}

/** The literal words that all forms begin with; of a single form all that it begins with. */
function programWords(forms: readonly (readonly Item[])[]): string[] {
  const [first, ...others] = forms;
  if (!first) return [];
  const words = [first[0]?.text ?? ''];
  for (const item of first.slice(1)) {
    if (item.bracket || !literal.test(item.text) || words.length > 4) break;
    words.push(item.text);
  }
  const shared = others.map((form) => commonLength(literals(form), words)).filter((length) => length > 0);
  return words.slice(0, Math.max(1, Math.min(words.length, ...shared)));
}

function commonLength(form: readonly string[], words: readonly string[]): number {
  let length = 0;
  while (length < words.length && form[length] === words[length]) length++;
  return length;
}

/** The words at the head of a form; flags in brackets may stand between them: `ip [-all] netns delete`. */
function literals(form: readonly Item[]): string[] {
  return form.filter((item) => !isFlagBracket(item)).map(({ text }) => text);
}

function isFlagBracket({ text, bracket }: Item): boolean {
  return bracket && /^\[\s*-/.test(text);
}

/** A form without the program's words; flags between those stay. */
function behindProgram(form: readonly Item[], program: readonly string[]): Item[] {
  let matched = 0;
  const between: Item[] = [];
  let at = 0;
  for (; at < form.length && matched < program.length; at++) {
    const item = form[at]!;
    if (item.text === program[matched]) matched++;
    else if (matched > 0 && isFlagBracket(item)) between.push(item);
    else break;
  }
  return [...between, ...form.slice(at)];
}

type Head = {
  readonly subcommands: string[];
  readonly flags: FlagEntry[];
  readonly choices: string[];
  takesCommand: boolean;
};

/** Reads a form up to its first operand: what stands behind a subcommand belongs to that. */
function readHead(
  rest: readonly Item[],
  formCount: number,
  direct: number,
  definitions: ReadonlyMap<string, string>,
): Head {
  const head: Head = { subcommands: [], flags: [], choices: [], takesCommand: false };
  let operands = 0;
  for (let index = 0; index < rest.length; index++) {
    const { text, bracket } = rest[index]!;
    if (operands === 0 && commandWord.test(text)) {
      head.takesCommand = true;
      if (!definitions.has(text)) operands++;
    }
    if (text.startsWith('-') || /^[[({]\s*-/.test(text)) {
      index += readFlag(rest, index, head.flags);
      // `--install [-s] [DIR]`: the rest of the form is about that flag.
      if (!bracket && formCount > 1) return head;
      continue;
    }
    const inside = bracket ? alternatives(text) : [];
    if (operands > 0 || isPlaceholder(text)) continue;
    if (!bracket && literal.test(text)) {
      const first = index === 0 || direct >= 2;
      if (formCount > 1 && first) head.subcommands.push(text);
      return head;
    }
    const optional = formCount > 1 && direct >= 2 ? /^\[\s*([a-z][a-z0-9-]*)(?:\s|\])/.exec(text) : null;
    if (inside.length >= 2 && (inside.length >= 3 || formCount > 1 || text.startsWith('{'))) {
      const words = inside.filter((word) => literal.test(word));
      // argparse: `{add,list} ...` are subcommands, `{fast,slow}` alone are values of an argument.
      if (!text.includes(',')) head.subcommands.push(...words);
      else if (rest[index + 1]?.text === '...') head.choices.push(...words);
      if (words.length > 0) return head;
    } else if (optional) {
      head.subcommands.push(optional[1]!);
      return head;
    }
    const defined = definitions.get(text.replace(/[[\]{}]/g, '').trim());
    if (defined !== undefined) {
      head.subcommands.push(...alternatives(defined).filter((word) => literal.test(word)));
      return head;
    }
    operands++;
  }
  return head;
}

/** `[OPTIONS]`, `[<options>]`, `[-flags]`, `[+toolchain]`: no operand. */
function isPlaceholder(text: string): boolean {
  return (
    /^[[<]+\s*[+-]?(?:[a-z]+[ -])?(?:options?|opts|flags?|args|switches)\b/i.test(text) ||
    /^\[\s*\+/.test(text)
  );
}

/** `{a|b|c}`, `[a | b]`, `{a,b}`: the words between, where each is one. */
function alternatives(text: string): string[] {
  const end = '[({'.includes(text[0] ?? ' ') ? closing(text, 0) : -1;
  if (end < 0) return [];
  const inside = text.slice(1, end - 1);
  const parts = inside.includes('|') ? inside.split('|') : text[0] === '{' ? inside.split(',') : [];
  const words = parts.map((part) => part.trim());
  return words.every((part) => /^(?:[A-Za-z0-9][\w.-]*|<[^<>]*>|\[[^[\]]*\])$/.test(part)) ? words : [];
}
