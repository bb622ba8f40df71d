/** Integer arithmetic of the shell over constants; null where something is not known. */
import type { ArithmeticExpression } from 'unbash';

type Read = (name: string) => string | null;

const limit = 2 ** 53;

/** The value, or null. `read` gives a variable's text. */
export function evaluate(expression: ArithmeticExpression | undefined, read: Read): number | null {
  if (expression === undefined) return null;
  switch (expression.type) {
    case 'ArithmeticGroup':
      return evaluate(expression.expression, read);
    case 'ArithmeticWord':
      return wordValue(expression.value, read);
    case 'ArithmeticUnary': {
      const value = evaluate(expression.operand, read);
      if (value === null) return null;
      return { '-': -value, '+': value, '~': ~value, '!': value === 0 ? 1 : 0 }[expression.operator] ?? null;
    }
    case 'ArithmeticBinary': {
      const left = evaluate(expression.left, read);
      const right = evaluate(expression.right, read);
      return left === null || right === null ? null : binary(expression.operator, left, right);
    }
    case 'ArithmeticTernary': {
      const test = evaluate(expression.test, read);
      return test === null ? null : evaluate(test === 0 ? expression.alternate : expression.consequent, read);
    }
    default:
      return null;
  }
}

function wordValue(text: string, read: Read): number | null {
  const word = text.trim();
  const name = /^\$?\{?([A-Za-z_]\w*|\d+)\}?$/.exec(word)?.[1];
  if (word.startsWith('$') || /^[A-Za-z_]/.test(word)) {
    const value = name === undefined ? null : read(name);
    return value === null ? null : numeral(value.trim() === '' ? '0' : value.trim());
  }
  return numeral(word);
}

function numeral(text: string): number | null {
  const based = /^(\d{1,2})#([0-9a-zA-Z]+)$/.exec(text);
  if (based !== null) return finite(Number.parseInt(based[2] ?? '', Number(based[1])));
  if (/^0[0-7]+$/.test(text)) return finite(Number.parseInt(text, 8));
  return /^[+-]?(?:\d{1,15}|0x[0-9a-f]{1,12})$/i.test(text) ? finite(Number(text)) : null;
}

function finite(value: number): number | null {
  return Number.isFinite(value) && Math.abs(value) < limit ? value : null;
}

function binary(operator: string, left: number, right: number): number | null {
  const value: Readonly<Record<string, () => number>> = {
    '+': () => left + right,
    '-': () => left - right,
    '*': () => left * right,
    '/': () => Math.trunc(left / right),
    '%': () => left % right,
    '**': () => left ** right,
    '<<': () => left * 2 ** right,
    '>>': () => Math.floor(left / 2 ** right),
    '^': () => left ^ right,
    '|': () => left | right,
    '&': () => left & right,
    ',': () => right,
  };
  const step = Object.hasOwn(value, operator) ? value[operator] : undefined;
  return step === undefined ? null : finite(step());
}
