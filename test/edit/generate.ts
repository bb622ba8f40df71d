/** Configs in every style: what fast-check draws is the layout; the data is known beside the text. */
import fc from 'fast-check';

export const runs = {
  numRuns: Number(process.env['FC_RUNS'] ?? (process.env['CI'] === 'true' ? 3_000 : 300)),
};

const eol = fc.constantFrom('\n', '\r\n');
const mark = fc.constantFrom('', '\uFEFF');
const comments = fc.constantFrom('', ' # c', '  # [x, "y"] - z: 1', ' #');
const between = fc.constantFrom('', '', '', '# own line', '\n', '  # - --x');

type Layout = { readonly eol: string; readonly mark: string; readonly final: boolean };
const layout: fc.Arbitrary<Layout> = fc.record({ eol, mark, final: fc.boolean() });

export function dressed(text: string, { eol: breaks, mark: bom, final }: Layout): string {
  const body = text.replaceAll('\n', breaks);
  return bom + (final ? body : body.replace(/(\r?\n)$/, ''));
}

const asked = fc.constantFrom(
  '--a',
  '--bb',
  '-4',
  '--x,y',
  '--c-d',
  '-z',
  "--it's",
  '--q"',
  '--k:',
  '-1e3',
  '--#',
);
const flag = fc.oneof(asked, fc.constantFrom('on', '--e=f', '12:30', 'a: b', ''));
const words = fc.constantFrom('push', 'pr list', 'fetch', '007', 'on', 'remote add');

type Quote = '' | "'" | '"';

function scalar(text: string, quote: Quote, flow: boolean): string {
  const plain =
    /^(--?[a-z][a-z,=-]*|[a-z]+( [a-z]+)*)$/.test(text) && text !== 'on' && !(flow && text.includes(','));
  if (quote === "'" || (quote === '' && !plain && !text.includes('"')))
    return `'${text.replaceAll("'", "''")}'`;
  return quote === '"' || !plain ? JSON.stringify(text) : text;
}

type Style = {
  readonly step: number;
  readonly listIndent: number;
  readonly gap: string;
  readonly quote: Quote;
  readonly inner: string;
  readonly separator: string;
  readonly comment: string;
  readonly between: string;
  readonly keys: Quote;
};

const style: fc.Arbitrary<Style> = fc.record({
  step: fc.integer({ min: 1, max: 8 }),
  listIndent: fc.integer({ min: 0, max: 4 }),
  gap: fc.constantFrom(' ', '  ', '   '),
  quote: fc.constantFrom('' as const, "'" as const, '"' as const),
  inner: fc.constantFrom('', ' ', '  '),
  separator: fc.constantFrom(', ', ',', ',  ', ' , '),
  comment: comments,
  between,
  keys: fc.constantFrom('' as const, '' as const, '"' as const),
});

export type RuleData = { subcommand?: string; flags?: string[] | null; match?: string[] };

const rule = fc.record(
  { subcommand: words, flags: fc.option(fc.uniqueArray(flag, { maxLength: 4 }), { nil: null }) },
  { requiredKeys: ['subcommand'] },
);
const ruleShape = fc.constantFrom('block', 'flow', 'block with flow flags', 'lines');

function flowFlags(flags: readonly string[], { inner, separator, quote }: Style, trailing = ''): string {
  return `[${inner}${flags.map((one) => scalar(one, quote, true)).join(separator)}${flags.length > 0 ? trailing : ''}${inner}]`;
}

function writeRule(data: RuleData, shape: string, at: number, look: Style): string {
  const { gap, comment, keys, quote, inner, separator } = look;
  const key = (name: string): string => keys + name + keys;
  const subcommand = scalar(data.subcommand ?? '', quote, shape === 'flow');
  const pad = ' '.repeat(at);
  if (shape === 'flow') {
    const parts = [`${key('subcommand')}: ${subcommand}`];
    if (data.flags !== undefined)
      parts.push(`${key('flags')}: ${data.flags === null ? 'null' : flowFlags(data.flags, look)}`);
    return `${pad}-${gap}{${inner}${parts.join(separator)}${inner}}${comment}\n`;
  }
  const inside = ' '.repeat(at + 1 + gap.length);
  let text = `${pad}-${gap}${key('subcommand')}: ${subcommand}${comment}\n`;
  if (data.flags === undefined) return text;
  if (data.flags === null) return `${text}${inside}${key('flags')}:${comment}\n`;
  text += `${inside}${key('flags')}:`;
  if (data.flags.length === 0 || shape === 'block with flow flags')
    return `${text} ${flowFlags(data.flags, look)}${comment}\n`;
  if (shape === 'lines') {
    const rows = data.flags.map((one) => `${inside}  ${scalar(one, quote, true)},${comment}\n`);
    return `${text} [\n${rows.join('')}${inside}]\n`;
  }
  const rows = data.flags.map(
    (one) => `${inside}${' '.repeat(look.listIndent)}-${gap}${scalar(one, quote, false)}${comment}\n`,
  );
  return `${text}${comment}\n${rows.join('')}`;
}

/** A policy of one tool between others. */
export const policy = fc
  .record({
    rules: fc.array(fc.tuple(rule, ruleShape), { maxLength: 4 }),
    look: style,
    dress: layout,
    empty: fc.constantFrom('missing', 'list', 'null', 'no value'),
    behind: fc.boolean(),
  })
  .map(({ rules, look, dress, empty, behind }) => {
    const [one, two] = [' '.repeat(look.step), ' '.repeat(look.step * 2)];
    const filler = look.between === '' ? '' : `${look.between}\n`;
    const head = `version: 1${look.comment}\n${filler}tools:${look.comment}\n${one}git:${look.comment}\n${two}binary: /usr/bin/git${look.comment}\n`;
    const list = rules
      .map(
        ([data, shape], index) =>
          (index === 0 ? '' : filler) + writeRule(data, shape, look.step * 2 + look.listIndent, look),
      )
      .join('');
    const value = { list: ' []', null: ' ~', 'no value': '', missing: '' }[empty];
    const allow =
      rules.length > 0
        ? `${two}allow:${look.comment}\n${filler}${list}`
        : empty === 'missing'
          ? ''
          : `${two}allow:${value}${look.comment}\n`;
    const tail = behind
      ? `${filler}${two}guard: git${look.comment}\n${filler}${one}gh: {binary: /usr/bin/gh}\n# end\n`
      : filler.trim() === ''
        ? ''
        : filler;
    return { text: dressed(head + allow + tail, dress), rules: rules.map(([data]) => data as RuleData) };
  });

export const request = fc.record({
  tool: fc.constant('git'),
  subcommand: words,
  flags: fc.array(asked, { maxLength: 3 }),
});

/** JSON as people write it: every object on one line or over several, comments, trailing commas. */
export type Look = {
  readonly unit: string;
  readonly comma: string;
  readonly colon: string;
  readonly brace: string;
  readonly comments: boolean;
  readonly trailing: boolean;
};

const look: fc.Arbitrary<Look> = fc.record({
  unit: fc.constantFrom('  ', '    ', '\t', ' '),
  comma: fc.constantFrom(' ', '', '  '),
  colon: fc.constantFrom(' ', '', '  '),
  brace: fc.constantFrom('', ' '),
  comments: fc.boolean(),
  trailing: fc.boolean(),
});

const key = fc.constantFrom('a', 'b', 'mcp', 'w', '', '__proto__', 'ключ', 'x"y', 'toString');
type Value = null | boolean | number | string | Value[] | { [key: string]: Value };
const { tree } = fc.letrec<{ tree: Value }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.constantFrom<Value>(null, true, 1, -0.5, 'text', '// no comment', '}', '\u2028'),
    fc.array(tie('tree'), { maxLength: 3 }),
    fc.dictionary(key, tie('tree'), { maxKeys: 4 }),
  ),
}));

function print(value: Value, draw: () => number, style_: Look, indent: string): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const list = Array.isArray(value);
  const parts = list
    ? value.map((item) => (at: string) => print(item, draw, style_, at))
    : Object.entries(value).map(
        ([name, item]) =>
          (at: string) =>
            `${JSON.stringify(name)}:${style_.colon}${print(item, draw, style_, at)}`,
      );
  const [open, close] = list ? '[]' : '{}';
  const lines = draw() % 2 === 0;
  const remark = (kinds: readonly string[]): string =>
    style_.comments ? (kinds[draw() % kinds.length] ?? '') : '';
  if (parts.length === 0)
    return lines && draw() % 3 === 0
      ? `${open}${remark(['', ' // e'])}\n${indent}${close}`
      : `${open}${remark(['', '/* e */', ' '])}${close}`;
  const comma = (index: number): string =>
    index < parts.length - 1 || (style_.trailing && draw() % 2 === 0) ? ',' : '';
  if (!lines) {
    const row = parts.map(
      (part, index) =>
        part(indent) +
        remark(['', '', ' /* r */']) +
        comma(index) +
        (index < parts.length - 1 ? style_.comma : ''),
    );
    return `${open}${style_.brace}${row.join('')}${remark(['', ' /* z */'])}${style_.brace}${close}`;
  }
  const deeper = indent + style_.unit;
  const rows = parts.map(
    (part, index) =>
      `${remark(['', '', `${deeper}// above\n`, '\n'])}${deeper}${part(deeper)}${remark(['', ' /* i */'])}${comma(index)}${remark(['', '', ' // r, }'])}\n`,
  );
  return `${open}${remark(['', ' // o'])}\n${rows.join('')}${remark(['', `${deeper}/* last */\n`])}${indent}${close}`;
}

export const jsonFile = fc
  .record({
    data: fc.dictionary(key, tree, { maxKeys: 4 }),
    style: look,
    draws: fc.array(fc.nat(30), { minLength: 20, maxLength: 60 }),
    dress: layout,
  })
  .map(({ data, style: chosen, draws, dress }) => {
    let at = 0;
    const draw = (): number => draws[at++ % draws.length] ?? 0;
    const text = `${print(data, draw, chosen, '')}\n`;
    return {
      text: dressed(text, dress),
      data,
      grammar: { comments: chosen.comments, trailingCommas: chosen.trailing },
    };
  });

/** A TOML file from statements that fit together whatever their order. */
const tomlPart = fc.constantFrom(
  'model = "x" # c',
  '# comment',
  '',
  '  ',
  '[a]\nx = [\n  1, # one\n]',
  '[mcp.a]\ncommand = "a"\nargs = ["[mcp.w]"]',
  '[mcp.b.env] # env\nK = """\n[mcp.w]\n"""',
  "['mcp'.\"c\"]\nx = '''a'''''",
  '[[list]]\nx = 1979-05-27T07:32:00Z',
  '\t[tui]\n\tt = { a = 1, b = [ {} ] }',
  '# [mcp.w]',
);
const tomlEntry = fc.constantFrom(
  '',
  '[mcp.w]\nx = 1 # old\n# in\ny = 2',
  '[mcp.w]',
  '[mcp.w.env]\nA = "1"',
  '[mcp.w] # h\n\n[mcp.w.env]\nB = "2"\n# after',
);

export const tomlFile = fc
  .record({
    parts: fc.uniqueArray(tomlPart, { maxLength: 6 }),
    entry: tomlEntry,
    at: fc.nat(6),
    dress: layout,
  })
  .map(({ parts, entry, at, dress }) => {
    // A pair belongs to the table before it: those of the root come first.
    const root = parts.filter((part) => part.startsWith('model'));
    const rest = parts.filter((part) => !part.startsWith('model'));
    const all = [...root, ...rest.slice(0, at), ...(entry === '' ? [] : [entry]), ...rest.slice(at)];
    return dressed(all.map((part) => `${part}\n`).join(''), dress);
  });
