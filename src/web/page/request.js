/** One request: what is asked, what it would change, and the decision. An approval is bound to what is shown here. */
import { get, post } from './api.js';
import { agentBlock, call, diff, facts, fill, h, heading, pill, trouble, when, word } from './dom.js';
import { escapeHostile, lookAlikes } from './text.js';

const scopes = [
  ['once', 'Once', 'this one call, in the session that asked'],
  ['uses', 'Some times', 'so many calls, in that session'],
  ['for', 'For a while', 'in that session, at most 24h'],
  ['session', 'Until the session ends', 'of a bare gateway: until it ends'],
  ['apply', 'For good', 'the rule is written into the config'],
];

export async function show(root, app, [id, focus]) {
  const state = { wide: false, review: null, seen: null, deciding: false };
  const said = h('div', { class: 'said' });
  const body = h('div', {});
  fill(root, h('p', { class: 'crumbs' }, h('a', { href: '#/requests' }, 'Requests'), ' / ', id), said, body);

  async function load() {
    const review = await get(`requests/${id}${state.wide ? '?wide=1' : ''}`);
    state.review = review;
    state.seen = review.status;
    fill(body, ...view(review));
    return review;
  }

  function view(review) {
    const open = isOpen(review.status);
    const words = review.call ?? [
      review.tool,
      ...(review.argv ?? [review.subcommand, ...review.flags, ...(review.args ?? [])]),
    ];
    return [
      h(
        'div',
        { class: 'title' },
        heading(review.argv === null ? 'A capability is asked for' : 'A call is asked for'),
        pill(review.status),
      ),
      h('div', { class: 'card' }, call(words, 'what is asked for'), marked(words)),
      decided(review),
      h(
        'section',
        { class: 'card', 'aria-labelledby': 'why' },
        h('h2', { id: 'why' }, 'Why ', h('span', { class: 'by' }, 'the agent’s words')),
        agentBlock(review.rationale, 'the agent’s reason'),
        review.enables
          ? h('h3', {}, 'What it would make possible ', h('span', { class: 'by' }, 'the agent’s words'))
          : null,
        review.enables ? agentBlock(review.enables, 'what it would make possible, by the agent') : null,
      ),
      h(
        'section',
        { class: 'card', 'aria-labelledby': 'what' },
        h('h2', { id: 'what' }, 'What would run'),
        whatRuns(review),
      ),
      h(
        'section',
        { class: 'card', 'aria-labelledby': 'change' },
        h('h2', { id: 'change' }, 'The change'),
        ...change(review),
      ),
      open && app.role === 'operator' ? decision(review) : null,
      open && app.role !== 'operator'
        ? h('p', { class: 'empty' }, 'This login may look, and change nothing.')
        : null,
    ];
  }

  function decision(review) {
    const approvable = review.config_problem === null && review.change?.ok === true;
    return h('div', { class: 'decide' }, approvable ? approval(review) : null, denial());
  }

  function approval(review) {
    const uses = h('input', {
      type: 'number',
      id: 'uses',
      min: '1',
      max: '999999',
      value: '3',
      'aria-label': 'how many times',
    });
    const duration = h('input', {
      type: 'text',
      id: 'for',
      value: '30m',
      size: '6',
      pattern: '[0-9]+(ms|s|m|h)',
      'aria-label': 'how long, such as 30m',
    });
    const extra = { uses, for: duration };
    const ended = review.session_ended;
    const choices = scopes.map(([name, label, text]) => {
      const input = h('input', {
        type: 'radio',
        name: 'scope',
        value: name,
        id: `scope-${name}`,
        checked: name === (ended ? 'apply' : 'once'),
        disabled: ended && name !== 'apply',
      });
      return h(
        'div',
        { class: 'choice' },
        input,
        h('label', { for: `scope-${name}` }, h('strong', {}, label), ' ', h('span', {}, text)),
        extra[name] ?? null,
      );
    });
    const button = h('button', { type: 'submit', id: 'approve', class: 'primary' }, 'Approve');
    const label = () => {
      const scope = form.elements.scope.value;
      button.textContent =
        scope === 'apply'
          ? 'Write the rule into the config'
          : `Approve: ${scopes.find(([name]) => name === scope)[1].toLowerCase()}`;
    };
    for (const [name, input] of Object.entries(extra))
      input.addEventListener('focus', () => {
        form.querySelector(`#scope-${name}`).checked = true;
        label();
      });
    const wide =
      review.argv === null
        ? null
        : h(
            'div',
            { class: 'choice' },
            h('input', {
              type: 'checkbox',
              id: 'wide',
              checked: state.wide,
              onchange: (event) => rewide(event.target.checked),
            }),
            h(
              'label',
              { for: 'wide' },
              h('strong', {}, 'Wide'),
              ' ',
              h('span', {}, 'values and arguments are left open; the change above shows it'),
            ),
          );
    const form = h(
      'form',
      {
        class: 'card approve',
        'aria-labelledby': 'approve-title',
        onchange: label,
        onsubmit: (event) => {
          event.preventDefault();
          const scope = form.elements.scope.value;
          const more =
            scope === 'uses' ? { uses: Number(uses.value) } : scope === 'for' ? { for: duration.value } : {};
          void act(
            form,
            () => post(`requests/${id}/approve`, { scope, ...more, wide: state.wide, digest: review.digest }),
            approvedText,
          );
        },
      },
      h('h2', { id: 'approve-title' }, 'Approve'),
      ended
        ? h('p', { class: 'warn' }, 'The session that asked has ended: a grant would be for nobody.')
        : null,
      h('fieldset', {}, h('legend', {}, 'How far it goes'), choices),
      wide,
      button,
    );
    label();
    return form;
  }

  function denial() {
    const reason = h('textarea', {
      id: 'reason',
      rows: '3',
      maxlength: '2000',
      required: true,
      'aria-describedby': 'reason-hint',
    });
    const form = h(
      'form',
      {
        class: 'card deny',
        'aria-labelledby': 'deny-title',
        onsubmit: (event) => {
          event.preventDefault();
          void act(
            form,
            () => post(`requests/${id}/deny`, { reason: reason.value }),
            () => 'Denied.',
          );
        },
      },
      h('h2', { id: 'deny-title' }, 'Deny'),
      h('label', { for: 'reason' }, 'Reason'),
      reason,
      h('p', { class: 'hint', id: 'reason-hint' }, 'The agent reads it, and can do better.'),
      h('button', { type: 'submit', id: 'deny', class: 'danger' }, 'Deny'),
    );
    return form;
  }

  async function rewide(wide) {
    state.wide = wide;
    await load().catch((error) => fill(said, trouble(error)));
    document.querySelector('#wide')?.focus();
  }

  /** While it is decided here, what others decide is told by the answer. */
  async function act(form, send, text) {
    if (state.deciding) return;
    state.deciding = true;
    for (const button of form.querySelectorAll('button')) button.disabled = true;
    try {
      const done = await send();
      fill(
        said,
        h(
          'div',
          { class: 'done' },
          h('p', {}, text(done)),
          ...(done.notes ?? []).map((note) => h('p', {}, escapeHostile(note))),
        ),
      );
    } catch (error) {
      fill(said, trouble(error));
      for (const button of form.querySelectorAll('button')) button.disabled = false;
      // Decided elsewhere, or something else than was shown: only what is there now may be decided on.
      if (error.status !== 409) {
        state.deciding = false;
        return;
      }
    }
    await load().catch((error) => fill(said, trouble(error)));
    state.deciding = false;
    said.scrollIntoView({ block: 'nearest' });
  }

  await load();
  return {
    shown: () => (focus === 'approve' || focus === 'deny') && aim(focus),
    title: id,
    key: (name) => (name === 'a' ? aim('approve') : name === 'd' ? aim('deny') : false),
    requests: ({ pending, decided: past }) => {
      const now = [...pending, ...past].find((request) => request.id === id);
      // A list that was on its way may be older than what is shown: nothing that is decided is pending again.
      if (now === undefined || state.deciding || !isOpen(state.seen) || isOpen(now.status)) return;
      const { decision: by } = now;
      state.seen = now.status;
      fill(
        said,
        h(
          'div',
          { class: 'trouble', role: 'alert' },
          h('p', {}, `This request is ${now.status} now${by ? `, by ${escapeHostile(by.actor)}` : ''}.`),
        ),
      );
      load().catch((error) => fill(said, trouble(error)));
    },
  };
}

const isOpen = (status) => status === 'pending' || status === 'expired';

/** To what would decide; the deciding itself takes another press, on what it says. */
function aim(what) {
  const target = document.querySelector(what === 'approve' ? 'input[name=scope]:checked' : '#reason');
  target?.focus();
  target?.closest('form')?.scrollIntoView({ block: 'nearest' });
  return true;
}

const gateways = {
  'in force': 'effective now',
  'not yet': 'effective when the running gateway has read the config',
  'not running': 'effective when its gateway runs',
};

function approvedText({ scope, grant, file, changed, verdict, reason, gateway }) {
  const how =
    scope !== 'apply'
      ? `Granted (${grant.id}).`
      : changed
        ? `Written to ${escapeHostile(file)}.`
        : `${escapeHostile(file)} allowed it already.`;
  const now =
    verdict === 'allow'
      ? 'The request is allowed'
      : `The request is still denied (${escapeHostile(reason ?? '')})`;
  return `${how} ${now}, ${gateways[gateway] ?? gateway}.`;
}

function marked(words) {
  return words.some((one) => /[^\x20-\x7e]/u.test(one))
    ? h(
        'p',
        { class: 'warn' },
        'Marked characters are not plain ASCII: they may look like others, or like nothing.',
      )
    : null;
}

function decided({ decision }) {
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

function whatRuns(review) {
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

function change(review) {
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
