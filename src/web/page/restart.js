/** A restart: what it would need and do, and the phrase. The supervisor judges it; this page acts on nothing. */
import { get, post } from './api.js';
import { facts, fill, h, heading, pill, trouble } from './dom.js';
import { escapeHostile } from './text.js';

export async function show(root, app, [named]) {
  const first = await get(`restart?namespace=${encodeURIComponent(named ?? '')}&mode=restart`);
  const known = first.known_namespaces;
  const namespace = h(
    'select',
    { id: 'namespace' },
    known.map((name) => h('option', { value: name, selected: name === named }, escapeHostile(name))),
  );
  const mode = h(
    'select',
    { id: 'mode' },
    ['restart', 'reload'].map((name) => h('option', { value: name }, name)),
  );
  const preview = h('div', {});
  const said = h('div', { class: 'said' });
  const back = { title: 'Restart' };
  if (known.length === 0) {
    fill(root, heading('Restart'), h('p', { class: 'empty' }, 'Nothing runs that could be restarted.'));
    return back;
  }
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
    preview,
  );

  async function load() {
    const shown = await get(
      `restart?${new URLSearchParams({ namespace: namespace.value, mode: mode.value })}`,
    );
    fill(preview, ...view(shown));
  }

  function view(shown) {
    return [
      h(
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
      ),
      app.role === 'operator' && shown.confirmation_phrase !== null ? confirm(shown) : null,
    ];
  }

  function confirm({ confirmation_phrase: phrase }) {
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
      `Ask for the ${mode.value}`,
    );
    input.addEventListener('input', () => (button.disabled = input.value.trim() !== phrase));
    return h(
      'form',
      {
        class: 'card',
        onsubmit: async (event) => {
          event.preventDefault();
          button.disabled = true;
          fill(said);
          try {
            const answer = await post('restart', {
              namespace: namespace.value,
              mode: mode.value,
              confirm: input.value,
            });
            fill(said, verdict(answer));
          } catch (error) {
            fill(said, trouble(error));
          }
          said.scrollIntoView({ block: 'nearest' });
        },
      },
      h('label', { for: 'phrase' }, 'Type ', h('code', {}, phrase)),
      input,
      h('p', { class: 'hint', id: 'phrase-hint' }, 'It is good for this one namespace and mode.'),
      button,
    );
  }

  const again = () => {
    fill(said);
    load().catch((error) => fill(said, trouble(error)));
  };
  namespace.addEventListener('change', again);
  mode.addEventListener('change', again);
  await load();
  return back;
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
