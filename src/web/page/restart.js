/** A restart: what it would need and do, and the phrase. The supervisor judges it; this page acts on nothing. */
import { get, post } from './api.js';
import { facts, fill, h, heading, pill, trouble } from './dom.js';
import { createPoll } from './poll.js';
import { escapeHostile } from './text.js';

const againMs = 1_000;

export async function show(root, app, [named]) {
  const { known_namespaces: known } = await preview({ namespace: named ?? '', mode: 'restart' });
  if (known.length === 0) {
    fill(root, heading('Restart'), h('p', { class: 'empty' }, 'Nothing runs that could be restarted.'));
    return { title: 'Restart' };
  }
  const namespace = select('namespace', known, named);
  const mode = select('mode', ['restart', 'reload']);
  const said = h('div', { class: 'said' });
  const outcome = h('div', { class: 'said' });
  const health = h('div', {});
  const plan = h('div', {});
  /** The one that was asked last: what comes for an earlier one is not shown. */
  let asked = 0;
  fill(
    root,
    heading('Restart'),
    h(
      'form',
      { class: 'filter', onsubmit: (event) => event.preventDefault() },
      h('label', { for: 'namespace' }, 'Namespace'),
      namespace,
      h('label', { for: 'mode' }, 'Mode'),
      mode,
    ),
    said,
    outcome,
    health,
    plan,
  );

  async function load() {
    const mine = ++asked;
    const wish = { namespace: namespace.value, mode: mode.value };
    const shown = await preview(wish);
    if (mine === asked) fill(plan, ...view(wish, shown));
  }

  /** The plan and the phrase of another one are gone before anything can be typed. */
  function choose() {
    fill(said);
    fill(outcome);
    fill(health);
    fill(plan, h('p', { class: 'empty' }, '…'));
    const mine = asked + 1;
    load().catch((error) => {
      if (mine !== asked) return;
      fill(plan);
      fill(said, trouble(error));
    });
    void look();
  }

  async function look() {
    const of = namespace.value;
    const node = await get('sessions').then(
      ({ sessions }) => condition(sessions.find(({ name }) => name === of.split('/')[0])),
      trouble,
    );
    if (of === namespace.value) fill(health, node);
  }

  function view(wish, shown) {
    return [
      ledger(shown),
      app.role === 'operator' && shown.confirmation_phrase !== null
        ? confirm(wish, shown.confirmation_phrase, ask)
        : null,
    ];
  }

  /** The answer is told together with the plan as it is then; until that nothing else can be chosen. */
  async function ask(wish, phrase) {
    const controls = [namespace, mode, ...plan.querySelectorAll('input, button')];
    for (const control of controls) control.disabled = true;
    fill(said);
    fill(outcome);
    let node;
    try {
      node = verdict(await post('restart', { ...wish, confirm: phrase }));
    } catch (error) {
      node = trouble(error);
    }
    await load().catch((error) => {
      node = h('div', {}, node, trouble(error));
      for (const control of controls) control.disabled = false;
    });
    namespace.disabled = false;
    mode.disabled = false;
    fill(said, node);
    said.scrollIntoView({ block: 'nearest' });
  }

  namespace.addEventListener('change', choose);
  mode.addEventListener('change', choose);
  await Promise.all([load(), look()]);
  const poll = createPoll(look, againMs);
  poll.start();
  return {
    title: 'Restart',
    leave: () => poll.stop(),
    records: (fresh) => {
      const last = fresh.findLast(
        ({ event, namespace: of, result }) =>
          event === 'restart' && of === namespace.value && !['handed_over', 'refused'].includes(result),
      );
      if (last !== undefined) fill(outcome, ended(last));
    },
  };
}

const preview = (wish) => get(`restart?${new URLSearchParams(wish)}`);

function select(id, names, chosen) {
  return h(
    'select',
    { id },
    names.map((name) => h('option', { value: name, selected: name === chosen }, escapeHostile(name))),
  );
}

/** Null where it is no session's. */
function condition(session) {
  if (session === undefined) return null;
  const { name, status, health } = session;
  return h(
    'section',
    { class: 'card', 'aria-labelledby': 'condition' },
    h('h2', { id: 'condition' }, 'How it is'),
    facts(
      ['Session', h('a', { href: `#/sessions/${encodeURIComponent(name)}` }, name)],
      ['Status', pill(status)],
      ['Health', pill(health.status)],
      health.reasons.length > 0 ? ['Why', escapeHostile(health.reasons.join('; '))] : null,
    ),
  );
}

function ledger(shown) {
  return h(
    'section',
    { class: 'card', 'aria-labelledby': 'ledger' },
    h('h2', { id: 'ledger' }, 'What would be done'),
    h(
      'ol',
      { class: 'ledger' },
      shown.mutation_ledger.map(({ step, summary }) =>
        h('li', {}, h('strong', {}, step.replaceAll('_', ' ')), ': ', escapeHostile(summary)),
      ),
    ),
    facts(
      [
        'Who asks',
        `${escapeHostile(shown.authorization.actor)}, ${shown.authorization.authorized ? 'may' : 'may not'}`,
      ],
      ['Authorized by the operator', pill(shown.operator_authorization.authorized ? 'yes' : 'no')],
      ['Restart hook', pill(shown.restart_hook.configured ? 'configured' : 'none')],
    ),
  );
}

/** Of what is shown, whatever is chosen above meanwhile. */
function confirm(wish, phrase, ask) {
  const input = h('input', {
    type: 'text',
    id: 'phrase',
    autocomplete: 'off',
    autocapitalize: 'off',
    spellcheck: 'false',
    'aria-describedby': 'phrase-hint',
  });
  const button = h(
    'button',
    { type: 'submit', class: 'danger', id: 'do-restart', disabled: true },
    `Ask for the ${wish.mode}`,
  );
  input.addEventListener('input', () => (button.disabled = input.value.trim() !== phrase));
  return h(
    'form',
    {
      class: 'card',
      onsubmit: (event) => {
        event.preventDefault();
        if (!button.disabled) void ask(wish, input.value);
      },
    },
    h('label', { for: 'phrase' }, 'Type ', h('code', {}, phrase)),
    input,
    h('p', { class: 'hint', id: 'phrase-hint' }, 'It is good for this one namespace and mode.'),
    button,
  );
}

/** What the supervisor wrote into the log when it was through. */
function ended({ mode, result, reason }) {
  const fine = ['restarted', 'reloaded'].includes(result) && reason === 'clean';
  return h(
    'div',
    { class: fine ? 'done' : 'trouble', role: 'alert' },
    h(
      'p',
      {},
      `The ${escapeHostile(mode)} has ended: `,
      h('strong', {}, escapeHostile(result)),
      `, ${escapeHostile(reason ?? '')}`,
    ),
  );
}

function verdict(answer) {
  return h(
    'div',
    { class: answer.allowed ? 'done' : 'trouble', role: 'alert' },
    h(
      'p',
      {},
      h('strong', {}, answer.allowed ? 'Handed over to the supervisor' : 'Refused'),
      ` (${escapeHostile(answer.reason_code)}): ${escapeHostile(answer.detail)}`,
    ),
    h('p', {}, `Next: ${escapeHostile(answer.next_action)}`),
  );
}
