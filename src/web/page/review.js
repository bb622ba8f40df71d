/** What of a request is shown to whoever decides: what runs, what it changes, what was decided. */
import { call, diff, facts, h, trouble, when, word } from './dom.js';
import { escapeHostile, lookAlikes } from './text.js';

/** Less than this fits into the box of a call. */
const long = 600;

export function marked(words) {
  return words.some((one) => /[^\x20-\x7e]/u.test(one))
    ? h(
        'p',
        { class: 'warn' },
        'Marked characters are not plain ASCII: they may look like others, or like nothing.',
      )
    : null;
}

/** What does not fit scrolls in its box: a person has to know that there is more. */
export function lengthOf(words) {
  const chars = words.reduce((sum, one) => sum + one.length, 0);
  return chars + words.length < long
    ? null
    : h(
        'p',
        { class: 'warn' },
        `It is long: ${words.length} words, ${chars} characters. Scroll to see all of it.`,
      );
}

export function decided({ decision }) {
  if (decision === null) return null;
  return h(
    'section',
    { class: 'card', 'aria-label': 'the decision' },
    facts(
      ['Decided', when(decision.time)],
      ['By', escapeHostile(decision.actor)],
      decision.scope ? ['How far', decision.scope] : null,
      decision.grant ? ['Grant', decision.grant] : null,
      decision.reason ? ['Reason', escapeHostile(decision.reason)] : null,
    ),
  );
}

export function whatRuns(review) {
  return facts(
    ['Session', escapeHostile(review.session ?? 'wraptool serve')],
    ['Client', h('span', { class: 'agent', dir: 'ltr' }, escapeHostile(review.client))],
    ['Folder', review.cwd === null ? 'not known' : word(review.cwd)],
    review.binary !== undefined
      ? [
          'Program',
          review.binary === null
            ? h('span', { class: 'warn' }, escapeHostile(review.binary_problem ?? ''))
            : word(review.binary),
        ]
      : null,
    review.runs ? ['Exactly', call(review.runs, 'what would run')] : null,
    ...lookAlikes(review.call ?? []).map((one) => [
      'Beware',
      h('span', { class: 'warn' }, `a word of it is no plain text: "${one}"`),
    ]),
    ['Asked', when(review.time)],
    review.seq
      ? [
          'Refused call',
          h('a', { href: `#/why/${encodeURIComponent(review.seq)}` }, escapeHostile(review.seq)),
        ]
      : null,
  );
}

export function change(review) {
  if (review.config_problem !== null)
    return [
      trouble({
        message: 'The config does not load now: nothing can be approved.',
        problems: review.config_problem.split('\n'),
      }),
    ];
  const { change: planned, config, newly_allowed: fresh, past_refused: looked } = review;
  if (!planned.ok)
    return [trouble({ message: `It cannot be approved as it is (${planned.code}): ${planned.message}` })];
  return [
    h('p', {}, 'A grant allows what this rule does; “for good” writes it into ', word(config.file), '.'),
    planned.diff === ''
      ? h('p', {}, 'The config allows it already.')
      : diff(planned.diff, 'the change to the config'),
    ...planned.notes.map((note) => h('p', { class: 'warn' }, escapeHostile(note))),
    h(
      'h3',
      {},
      fresh.length === 0
        ? 'It would allow no other call that was refused lately'
        : 'It would also allow these refused calls',
    ),
    fresh.length === 0
      ? null
      : h(
          'ul',
          { class: 'calls' },
          fresh.map((one) => h('li', {}, call(one, 'a refused call'))),
        ),
    h('p', { class: 'hint' }, `Of the last ${looked} refused calls of this tool.`),
  ];
}
