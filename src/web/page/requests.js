/** The requests: those that wait come first, the oldest on top, so that nothing moves under a finger. */
import { post } from './api.js';
import { agent, call, fill, h, heading, pill, trouble, when } from './dom.js';
import { cut, escapeHostile } from './text.js';

export function show(root, app) {
  const pending = h('section', { 'aria-labelledby': 'pending-title' });
  const grants = h('section', { 'aria-labelledby': 'grants-title' });
  const decided = h('section', { 'aria-labelledby': 'decided-title' });
  fill(root, heading('Requests'), pending, grants, decided);
  const shown = new Map();
  const draw = ({ pending: oldest, waiting, decided: past, grants: granted, more }) => {
    update(pending, 'pending', JSON.stringify([waiting, oldest]), shown, () => [
      h('h2', { id: 'pending-title' }, waiting === 0 ? 'Nothing waits' : `Waiting (${waiting})`),
      waiting === 0
        ? h('p', { class: 'empty' }, 'What an agent asks for appears here at once.')
        : h('ul', { class: 'list' }, oldest.map(row)),
      waiting > oldest.length
        ? h(
            'p',
            { class: 'empty' },
            `The oldest ${oldest.length}; ${waiting - oldest.length} more wait behind them.`,
          )
        : null,
    ]);
    update(grants, 'grants', JSON.stringify(granted), shown, () =>
      granted.length === 0
        ? []
        : [
            h('h2', { id: 'grants-title' }, `Granted for a while (${granted.length})`),
            h(
              'ul',
              { class: 'list' },
              granted.map((grant) => grantRow(grant, app)),
            ),
          ],
    );
    update(decided, 'decided', JSON.stringify(past), shown, () =>
      past.length === 0
        ? []
        : [
            h('h2', { id: 'decided-title' }, 'Decided'),
            h('ul', { class: 'list past' }, past.map(row)),
            more > 0 ? h('p', { class: 'empty' }, `${more} older ones are in the audit.`) : null,
          ],
    );
  };
  draw(app.requests);
  return { requests: draw };
}

/** Only what is another one is drawn anew; what had the focus keeps it. */
function update(element, name, content, shown, make) {
  if (shown.get(name) === content) return;
  shown.set(name, content);
  const focused = element.contains(document.activeElement)
    ? document.activeElement.getAttribute('href')
    : null;
  fill(element, ...make());
  if (focused !== null) element.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus();
}

function row(request) {
  const { id, status, words, session, time, client, rationale, decision } = request;
  return h(
    'li',
    {},
    h(
      'a',
      { class: 'request', href: `#/request/${id}`, 'data-request': id, 'data-status': status },
      h(
        'span',
        { class: 'line' },
        pill(status),
        h('code', { class: 'short', dir: 'ltr' }, cut(words.map(escapeHostile).join(' '), 160)),
      ),
      h('span', { class: 'why' }, agent(cut(rationale, 160))),
      h(
        'span',
        { class: 'meta' },
        escapeHostile(session ?? 'wraptool serve'),
        ' · ',
        escapeHostile(cut(client, 40)),
        ' · ',
        when(decision?.time ?? time),
        decision?.reason ? ` · ${escapeHostile(cut(decision.reason, 100))}` : null,
        decision?.scope ? ` · ${decision.scope}` : null,
      ),
    ),
  );
}

function grantRow(grant, app) {
  const { rule } = grant;
  const words = [
    rule.tool,
    ...(rule.subcommand ? rule.subcommand.split(' ') : []),
    ...rule.flags,
    ...(rule.exact?.args ?? []),
  ];
  const said = h('div', {});
  const button = h(
    'button',
    {
      type: 'button',
      class: 'danger',
      'aria-label': `Revoke ${grant.id}`,
      onclick: async () => {
        button.disabled = true;
        try {
          await post(`grants/${grant.id}/revoke`);
          app.say(`${grant.id} is revoked`);
        } catch (error) {
          button.disabled = false;
          fill(said, trouble(error));
        }
      },
    },
    'Revoke',
  );
  return h(
    'li',
    { class: 'grant' },
    h(
      'div',
      {},
      call(words, 'what it allows'),
      h(
        'span',
        { class: 'meta' },
        left(grant),
        ' · ',
        escapeHostile(grant.session ?? 'wraptool serve'),
        ' · by ',
        escapeHostile(grant.actor),
      ),
      said,
    ),
    app.role === 'operator' ? button : null,
  );
}

function left({ uses, used, expires, scope }) {
  if (uses !== null) return `${uses - used} of ${uses} uses left`;
  if (expires !== null) return `until ${new Date(expires).toLocaleTimeString()}`;
  return scope === 'session' ? 'until the session ends' : scope;
}
