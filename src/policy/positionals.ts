/** The positionals that one rule read: each in its slot, none too few; then what the rule requires. */
import { judge } from './constraint.ts';
import { progressOf, type Positional, type Reader, type Refusal } from './grammar.ts';
import type { AllowRule, Slot, Terms, Word } from './rule.ts';
import { hasHidden, show } from './text.ts';
import type { ReasonCode } from './types.ts';

/** Why what was read does not fit, or null. `target`: the word that the rule stands on. */
export function refusePositionals(target: Word, reader: Reader): Refusal | null {
  const { rule, terms, positionals } = reader;
  const own = terms.endOfOptions !== null && terms.endOfOptions !== true ? terms.endOfOptions : null;
  const listed = own ? positionals.filter((positional) => !positional.afterEnd).length : positionals.length;
  const slots = assign(terms, listed);
  let place = 0;
  for (let index = 0; index < positionals.length; index++) {
    const positional = positionals[index];
    if (!positional) continue;
    const slot = own && positional.afterEnd ? { constraint: own, optional: true } : slots[place++];
    const refusal = refusePositional(target, reader, positional, index, slot);
    if (refusal) return refusal;
  }
  return refuseSwallowed(reader) ?? refuseMissing(rule, listed) ?? refuseRequired(reader);
}

/** Which slot each of `count` positionals has: optional ones are filled from the left as far as there are enough. */
function assign(terms: Terms, count: number): readonly (Slot | undefined)[] {
  if (terms.fewestArgs === terms.args.length && terms.args.length >= count) return terms.args;
  let spare = Math.max(0, count - terms.fewestArgs);
  const slots: (Slot | undefined)[] = [];
  for (const arg of terms.args) {
    if (arg.optional && spare === 0) continue;
    if (arg.optional) spare--;
    slots.push(arg);
  }
  const rest = terms.rest ? { constraint: terms.rest, optional: true } : undefined;
  while (slots.length < count) slots.push(rest);
  return slots;
}

function refusePositional(
  target: Word,
  { rule, grammar }: Reader,
  { text, afterEnd }: Positional,
  index: number,
  slot: Slot | undefined,
): Refusal | null {
  const progress = progressOf.positional + index;
  if (target.next.has(text))
    return refuse(
      progress,
      'arg_not_allowed',
      `'${show([...rule.path, text].join(' '))}' is a subcommand of its own`,
      text,
    );
  if (hasHidden(text, slot?.constraint.multiline ?? false))
    return refuse(progress, 'argument_malformed', `argument '${show(text)}' has hidden characters`, text);
  const { facts } = grammar;
  const late = facts.lateOptions && index === 1 && text.startsWith('-') && !afterEnd;
  if (late || facts.operators?.includes(text))
    return refuse(
      progress,
      'arg_not_allowed',
      `'${show(text)}' would be read as an option by '${rule.tool}'`,
      text,
    );
  if (!slot && rule.terms.anyArgs && text !== '-') return null;
  if (!slot)
    return refuse(
      progress,
      'arg_not_allowed',
      `argument '${show(text)}' is more than ${command(rule)} takes`,
      text,
    );
  const verdict = judge(slot.constraint, text);
  if (!verdict) return null;
  return refuse(
    progress,
    verdict.path ? 'path_not_allowed' : 'arg_not_allowed',
    `argument '${show(text)}' is not allowed for ${command(rule)}: ${show(verdict.why, 240)}`,
    text,
  );
}

/** A positional that would stand directly after a bare flag, where this CLI takes it for a value. */
function refuseSwallowed({ rule, grammar, positionals, flags }: Reader): Refusal | null {
  const { swallowed } = grammar.facts;
  const first = positionals[0];
  const last = flags.at(-1)?.words;
  if (!swallowed || !first || first.afterEnd || last?.length !== 1 || last[0]?.includes('=')) return null;
  if (!swallowed.includes(first.text)) return null;
  return refuse(
    progressOf.missing,
    'flag_value_ambiguous',
    `'${show(first.text)}' after a flag would be read as the flag's value by '${rule.tool}'`,
    first.text,
  );
}

function refuseMissing(rule: AllowRule, count: number): Refusal | null {
  const { fewestArgs } = rule.terms;
  if (count >= fewestArgs) return null;
  return refuse(
    progressOf.missing,
    'arg_missing',
    `${command(rule)} needs ${fewestArgs} argument${fewestArgs === 1 ? '' : 's'}, ${count} given`,
    null,
  );
}

function refuseRequired(reader: Reader): Refusal | null {
  const { rule, terms } = reader;
  for (const flag of terms.required)
    if (!reader.has(flag))
      return {
        ...refuse(
          progressOf.required,
          'flag_required',
          `flag '${flag.name}' is required for ${command(rule)}`,
          flag.name,
        ),
        flag: flag.name,
      };
  return null;
}

function refuse(progress: number, reason: ReasonCode, detail: string, offending: string | null): Refusal {
  return { reason, detail, offending, flag: null, progress };
}

function command(rule: AllowRule): string {
  return `'${[rule.tool, ...rule.path].join(' ')}'`;
}
