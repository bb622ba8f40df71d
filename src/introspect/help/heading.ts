/** Headings, and what the lines under one are. */

/** `usage` is how the tool is called; `other` may list commands where the usage says that there are some. */
export type Section = 'commands' | 'flags' | 'usage' | 'positional' | 'examples' | 'skipped' | 'other';

const usage = /^(?:usage|synopsis)\b/;
const flags = /\b(?:options?|flags?|switches)\b/;
const examples = /\bexamples?\b|\bsample\b/;
const positional = /^(?:positional arguments|arguments|positionals|args|parameters)\b/;
const commands =
  /\b(?:sub-?)?commands?\b|\b(?:actions|verbs|functions|applets|services|subcommands)\b|^topics$/;
/** Lists of words that are no commands. */
const skipped =
  /\b(?:help topics|environment|variables|learn more|see also|exit (?:status|codes?)|json fields|aliases|authors?|copyright|license|files|formats?|values|generators|list|version|name|documentation|resources|modifiers|specifiers|presets|types|guides|concepts)\b|^(?:description|notes?|bugs)\b/;
/** "Cipher commands (see the 'enc' command …)": words that another command takes. */
const ofAnother = /\(see the [`'"]?[\w-]+['"]? command\b/;

/** What a heading announces, by its words alone. */
export function sectionOf(heading: string): Section {
  const text = heading.toLowerCase();
  const words = text.replace(/\(.{0,200}\)/, '').trim();
  if (usage.test(words)) return 'usage';
  if (examples.test(words)) return 'examples';
  if (flags.test(words)) return 'flags';
  if (ofAnother.test(text)) return 'skipped';
  if (positional.test(words)) return 'positional';
  if (/help topics/.test(words)) return 'skipped';
  if (commands.test(words)) return 'commands';
  return skipped.test(words) ? 'skipped' : 'other';
}

export type Around = {
  readonly indent: number;
  /** Whether nothing, or an empty line, stands before. */
  readonly afterBlank: boolean;
  /** The next line that is not empty, and whether one that is stands between. */
  readonly next: { readonly indent: number; readonly text: string; readonly apart: boolean } | null;
};

const maxHeading = 120;

/** Whether a line, that is no entry of a list, is a heading. */
export function isHeading(text: string, around: Around): boolean {
  if (text.length > maxHeading || text.startsWith('-') || text.includes('  ')) return false;
  if (text.endsWith(':')) return true;
  if (isCapitals(text)) return true;
  const { next } = around;
  if (!around.afterBlank || next === null) return false;
  const lower = text
    .replace(/\(.{0,100}\)/, '')
    .trim()
    .toLowerCase();
  if (/\b(?:commands|options|flags|arguments)$/.test(lower) && lower.split(' ').length <= 5) return true;
  return (
    !next.apart &&
    (next.indent > around.indent || (next.text.startsWith('-') && lower.split(' ').length <= 5)) &&
    !text.endsWith('.')
  );
}

function isCapitals(text: string): boolean {
  return /^[A-Z][A-Z &/,-]{2,}$/.test(text);
}
