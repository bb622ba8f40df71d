/** The two forms that decide on a request, and what is told of a decision. What a person chose or wrote outlives a redraw. */
import { h } from './dom.js';
import { escapeHostile } from './text.js';

const scopes = [
  ['once', 'Once', 'this one call, in the session that asked'],
  ['uses', 'Some times', 'so many calls, in that session'],
  ['for', 'For a while', 'in that session, at most 24h'],
  ['session', 'Until the session ends', 'of a bare gateway: until it ends'],
  ['apply', 'For good', 'the rule is written into the config'],
];

/** What a person chose and wrote so far; no scope yet. */
export const choice = () => ({ scope: null, uses: '3', for: '30m', reason: '' });

/**
 * `kept`: a `choice`, read and written. `approve` gets the scope as the API takes it. `shown` is what the approval is for: a
 * review, and whether it is the wide one.
 */
export function approval({ review, wide }, kept, { approve, rewide }) {
  const ended = review.session_ended;
  // A scope that was chosen and cannot be had any more is not replaced by a farther one.
  kept.scope ??= ended ? 'apply' : 'once';
  const uses = h('input', {
    type: 'number',
    id: 'uses',
    min: '1',
    max: '999999',
    value: kept.uses,
    'aria-label': 'how many times',
  });
  const duration = h('input', {
    type: 'text',
    id: 'for',
    value: kept.for,
    size: '6',
    pattern: '[0-9]+(ms|s|m|h)',
    'aria-label': 'how long, such as 30m',
  });
  const extra = { uses, for: duration };
  const choices = scopes.map(([name, label, text]) => {
    const possible = !ended || name === 'apply';
    return h(
      'div',
      { class: 'choice' },
      h('input', {
        type: 'radio',
        name: 'scope',
        value: name,
        id: `scope-${name}`,
        required: true,
        checked: possible && name === kept.scope,
        disabled: !possible,
      }),
      h('label', { for: `scope-${name}` }, h('strong', {}, label), ' ', h('span', {}, text)),
      extra[name] ?? null,
    );
  });
  const button = h('button', { type: 'submit', id: 'approve', class: 'primary' });
  const label = () => {
    const scope = form.elements.scope.value;
    const [, name] = scopes.find(([one]) => one === scope) ?? [];
    button.textContent =
      scope === 'apply'
        ? 'Write the rule into the config'
        : name === undefined
          ? 'Approve'
          : `Approve: ${name.toLowerCase()}`;
  };
  const changed = () => {
    Object.assign(kept, { uses: uses.value, for: duration.value });
    if (form.elements.scope.value !== '') kept.scope = form.elements.scope.value;
    label();
  };
  for (const [name, input] of Object.entries(extra))
    input.addEventListener('focus', () => {
      form.querySelector(`#scope-${name}`).checked = true;
      changed();
    });
  const form = h(
    'form',
    {
      class: 'card approve',
      'aria-labelledby': 'approve-title',
      onchange: changed,
      onsubmit: (event) => {
        event.preventDefault();
        changed();
        const { scope } = kept;
        approve(
          scope === 'uses'
            ? { scope, uses: Number(kept.uses) }
            : scope === 'for'
              ? { scope, for: kept.for }
              : { scope },
        );
      },
    },
    h('h2', { id: 'approve-title' }, 'Approve'),
    ended
      ? h('p', { class: 'warn' }, 'The session that asked has ended: a grant would be for nobody.')
      : null,
    h('fieldset', {}, h('legend', {}, 'How far it goes'), choices),
    review.argv === null ? null : widening(wide, rewide),
    button,
  );
  label();
  return form;
}

function widening(wide, rewide) {
  return h(
    'div',
    { class: 'choice' },
    h('input', {
      type: 'checkbox',
      id: 'wide',
      checked: wide,
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
}

export function denial(kept, deny) {
  const reason = h('textarea', {
    id: 'reason',
    rows: '3',
    maxlength: '2000',
    required: true,
    'aria-describedby': 'reason-hint',
    oninput: () => (kept.reason = reason.value),
  });
  reason.value = kept.reason;
  return h(
    'form',
    {
      class: 'card deny',
      'aria-labelledby': 'deny-title',
      onsubmit: (event) => {
        event.preventDefault();
        deny(reason.value);
      },
    },
    h('h2', { id: 'deny-title' }, 'Deny'),
    h('label', { for: 'reason' }, 'Reason'),
    reason,
    h('p', { class: 'hint', id: 'reason-hint' }, 'The agent reads it, and can do better.'),
    h('button', { type: 'submit', id: 'deny', class: 'danger' }, 'Deny'),
  );
}

const gateways = {
  'in force': 'effective now',
  'not yet': 'effective when the running gateway has read the config',
  'not running': 'effective when its gateway runs',
};

export function approvedText({ scope, grant, file, changed, verdict, reason, gateway }) {
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
