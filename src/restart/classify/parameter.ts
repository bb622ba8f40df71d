/** `${NAME…}`: what the forms of parameter expansion make of values that are known. */
import type { ParameterExpansionPart, ParameterOperation, Word } from 'unbash';
import { isKnown } from './holes.ts';
import type { Machine, Shell } from './machine.ts';
import { globMatches } from './pattern.ts';

type ToText = (word: Word) => string;

const mostShells = ['BASHPID', 'PPID', '$', '!'];

/** Values of a variable or special parameter; null where it has none here. */
export function lookUp(m: Machine, shell: Shell, name: string): readonly string[] | null {
  const known = shell.vars.get(name);
  if (known !== undefined) return known;
  if (mostShells.includes(name)) return [m.hole({ of: 'own' })];
  if (name === '@' || name === '*') return shell.positional.slice(1);
  if (name === '#') return [String(Math.max(0, shell.positional.length - 1))];
  if (/^\d+$/.test(name)) {
    const value = shell.positional[Number(name)];
    if (value !== undefined) return [value];
    // Of a script's own parameters nothing is known; where some are set, the rest are empty.
    return shell.positional.length > 1 ? [] : null;
  }
  if (name === 'IFS') return [' \t\n'];
  if (name === 'HOME') return ['/home/operator'];
  if (name === '?') return ['0'];
  return null;
}

/** The values that the expansion gives; several for a list. */
export function expandParameter(
  m: Machine,
  shell: Shell,
  part: ParameterExpansionPart,
  toText: ToText,
): readonly string[] {
  const own = valuesAt(m, shell, part, toText);
  if (part.prefix === '#') {
    const one = own?.[0];
    return [one !== undefined && isKnown(one) ? String(one.length) : m.holes.unknown];
  }
  let values = own;
  if (part.prefix === '!') {
    if (part.operation?.type === 'Names' || own === null || own.length !== 1) return [m.holes.unknown];
    const target = own[0] ?? '';
    values = isKnown(target) ? lookUp(m, shell, target) : null;
  }
  const { operation } = part;
  if (operation === undefined) return values ?? [m.holes.unknown];
  if (operation.type === 'Default') return byDefault(m, shell, part.parameter, operation, values, toText);
  if (values === null) return [m.holes.unknown];
  if (operation.type === 'Slice' && values.length !== 1) return values;
  return values.map((value) => transform(m, operation, value, toText));
}

function valuesAt(m: Machine, shell: Shell, part: ParameterExpansionPart, toText: ToText) {
  const values = lookUp(m, shell, part.parameter);
  if (part.index === undefined) {
    return values === null || part.parameter === '@' || part.parameter === '*' ? values : values.slice(0, 1);
  }
  const index = toText(part.index);
  if (values === null || index === '@' || index === '*') return values;
  if (!/^-?\d+$/.test(index)) return values.length === 1 ? values : [m.holes.unknown];
  const one = values.at(Number(index));
  return one === undefined ? [] : [one];
}

function byDefault(
  m: Machine,
  shell: Shell,
  name: string,
  { operator, operand }: Extract<ParameterOperation, { type: 'Default' }>,
  values: readonly string[] | null,
  toText: ToText,
): readonly string[] {
  const empty = values !== null && values.join('') === '';
  if (operator === '+' || operator === ':+') return empty ? [''] : [toText(operand)];
  if (operator === '?' || operator === ':?') return values ?? [m.holes.unknown];
  if (values !== null && !empty) return values;
  const text = toText(operand);
  if (operator === '=' || operator === ':=') shell.vars.set(name, [text]);
  return [text];
}

function transform(m: Machine, operation: ParameterOperation, value: string, toText: ToText): string {
  switch (operation.type) {
    case 'Remove':
      return isKnown(value) ? remove(value, operation.operator, toText(operation.operand)) : value;
    case 'Replace':
      return replace(m, value, operation.operator, toText(operation.pattern), toText(operation.replacement));
    case 'Slice':
      return slice(m, value, toText(operation.offset), operation.length && toText(operation.length));
    case 'CaseModification':
      return changeCase(value, operation.operator);
    case 'Transform':
      return (
        { U: value.toUpperCase(), L: value.toLowerCase(), u: changeCase(value, '^') }[
          toText(operation.operand)
        ] ?? value
      );
    default:
      return m.blurred(value);
  }
}

function changeCase(value: string, operator: string): string {
  if (operator === '^^') return value.toUpperCase();
  if (operator === ',,') return value.toLowerCase();
  const head = value.slice(0, 1);
  return (operator === '^' ? head.toUpperCase() : head.toLowerCase()) + value.slice(1);
}

const longestTry = 512;

function remove(value: string, operator: string, pattern: string): string {
  if (value.length > longestTry) return value;
  const lengths = Array.from({ length: value.length + 1 }, (_none, length) => length);
  // The shortest that fits, or for the doubled operator the longest.
  if (operator.length === 2) lengths.reverse();
  for (const length of lengths) {
    const cut = operator.startsWith('#') ? value.slice(0, length) : value.slice(value.length - length);
    if (globMatches(pattern, cut))
      return operator.startsWith('#') ? value.slice(length) : value.slice(0, value.length - length);
  }
  return value;
}

function replace(m: Machine, value: string, operator: string, pattern: string, by: string): string {
  if (pattern === '') return value;
  if (/[*?[]/.test(pattern)) return m.blurred(value);
  if (operator === '//') return m.bounded(value.replaceAll(pattern, () => by));
  if (operator === '/#') return value.startsWith(pattern) ? by + value.slice(pattern.length) : value;
  if (operator === '/%') return value.endsWith(pattern) ? value.slice(0, -pattern.length) + by : value;
  return value.replace(pattern, () => by);
}

function slice(m: Machine, value: string, offset: string, length: string | undefined): string {
  const from = Number(offset.trim());
  const count = length === undefined ? undefined : Number(length.trim());
  if (!Number.isInteger(from) || (count !== undefined && !Number.isInteger(count))) return m.blurred(value);
  const start = from < 0 ? value.length + from : from;
  if (count === undefined) return value.slice(Math.max(0, start));
  return value.slice(Math.max(0, start), count < 0 ? value.length + count : start + count);
}
