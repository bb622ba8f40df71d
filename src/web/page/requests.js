/** The requests: those that wait come first, the oldest on top, so that nothing moves under a finger. */
import { post, to } from './api.js';
import { agent, call, fill, h, heading, pill, trouble, when } from './dom.js';
import { createGuard } from './guard.js';
import { createKeyed } from './keyed.js';
import { cut, escapeHostile } from './text.js';

/** More than fit on a screen: a long list does not keep those waiting. */
const atOnce = 20;

export function show(root, app) {
  // Where a row came or went, another button may be under the pointer.
  const guard = createGuard(() => grants.element.querySelectorAll('button'));
  let places = null;
  const pending = part('pending', createKeyed({ class: 'list' }, request));
  const grants = part(
    'grants',
    createKeyed({ class: 'list' }, (grant) => granted(grant, app, guard)),
  );
  const decided = part('decided', createKeyed({ class: 'list past' }, request));
  fill(root, heading('Requests'), pending.element, grants.element, decided.element);
  const draw = ({ pending: oldest, waiting, decided: past, grants: live, more }, most = Infinity) => {
    const first = oldest.slice(0, most);
    pending.draw(
      first,
      waiting === 0 ? 'Nothing waits' : `Waiting (${waiting})`,
      waiting === 0
        ? 'What an agent asks for appears here at once.'
        : waiting > oldest.length
          ? `The oldest ${oldest.length}; ${waiting - oldest.length} more wait behind them.`
          : '',
    );
    grants.draw(live, `Granted for a while (${live.length})`);
    const now = JSON.stringify([first, live].map((all) => all.map(({ id }) => id)));
    if (places !== null && now !== places) guard.changed();
    else guard.draw();
    places = now;
    decided.draw(
      past.slice(0, Math.max(0, most - oldest.length)),
      'Decided',
      more > 0 ? `${more} older ones are in the audit.` : '',
    );
  };
  draw(app.requests, atOnce);
  return {
    // Once the first ones can be seen.
    shown: () => requestAnimationFrame(() => setTimeout(() => draw(app.requests))),
    requests: (list) => draw(list),
  };
}

/** A list with its title, and a remark below. The one that waits is there even when it is empty. */
function part(name, list) {
  const title = h('h2', { id: `${name}-title` });
  const remark = h('p', { class: 'empty' });
  const element = h('section', { 'aria-labelledby': `${name}-title` }, title, list.element, remark);
  return {
    element,
    draw(items, text, said = '') {
      element.hidden = items.length === 0 && name !== 'pending';
      list.element.hidden = items.length === 0;
      remark.hidden = said === '';
      title.textContent = text;
      remark.textContent = said;
      list.update(items);
    },
  };
}

function request(first) {
  const { id } = first;
  const link = h('a', { class: 'request', href: `#/request/${encodeURIComponent(id)}`, 'data-request': id });
  const update = ({ status, words, session, time, client, rationale, decision }) => {
    link.dataset.status = status;
    fill(
      link,
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
    );
  };
  return row(h('li', {}, link), update, first);
}

function row(element, update, first) {
  update(first);
  return { element, update };
}

/** What is left of it may change at any moment; its button stays where it is. */
function granted(grant, app, guard) {
  const { id, rule } = grant;
  const words = [
    rule.tool,
    ...(rule.subcommand ? rule.subcommand.split(' ') : []),
    ...rule.flags,
    ...(rule.exact?.args ?? []),
  ];
  const rest = h('span', {});
  const said = h('div', {});
  const button = h(
    'button',
    { type: 'button', class: 'danger', 'aria-label': `Revoke ${id}`, onclick: () => void revoke() },
    'Revoke',
  );
  const revoke = () =>
    guard.during(async () => {
      fill(said);
      try {
        await post(to('grants', id, 'revoke'));
        app.say(`${id} is revoked`);
        await app.refresh();
      } catch (error) {
        fill(said, trouble(error));
      }
    });
  const box = h(
    'div',
    { class: 'grant' },
    h(
      'div',
      {},
      call(words, 'what it allows'),
      h(
        'span',
        { class: 'meta' },
        rest,
        ' · ',
        escapeHostile(grant.session ?? 'wraptool serve'),
        ' · by ',
        escapeHostile(grant.actor),
      ),
      said,
    ),
    app.role === 'operator' ? button : null,
  );
  return row(h('li', {}, box), (now) => (rest.textContent = left(now)), grant);
}

function left({ uses, used, expires, scope }) {
  if (uses !== null) return `${uses - used} of ${uses} uses left`;
  if (expires !== null) return `until ${new Date(expires).toLocaleTimeString()}`;
  return scope === 'session' ? 'until the session ends' : scope;
}
