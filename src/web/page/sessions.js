/** Sessions: which live, how they are, and what they call. */
import { get, to } from './api.js';
import { agentBlock, facts, fill, h, heading, pill, trouble, when, word } from './dom.js';
import { createKeyed } from './keyed.js';
import { createPoll } from './poll.js';
import { createRecords } from './records.js';
import { escapeHostile, escapeLines } from './text.js';

const most = 100;
const againMs = 3_000;

export async function show(root, app, [name]) {
  return name ? one(root, name) : all(root);
}

async function all(root) {
  const said = h('div', {});
  const empty = h('p', { class: 'empty' }, 'No session runs. “wraptool up HARNESS” starts one.');
  const list = createKeyed({ class: 'list' }, entry);
  const load = async () => {
    const { sessions } = await get('sessions');
    fill(said);
    empty.hidden = sessions.length > 0;
    list.element.hidden = sessions.length === 0;
    list.update(sessions);
  };
  fill(root, heading('Sessions'), said, empty, list.element);
  await load();
  const poll = createPoll(
    () =>
      load().catch((error) => {
        // A list that may be old is none.
        fill(said, trouble(error));
        empty.hidden = true;
        list.element.hidden = true;
      }),
    againMs,
  );
  poll.start();
  return { title: 'Sessions', leave: () => poll.stop() };
}

function entry(first) {
  const link = h('a', { class: 'request', href: `#/sessions/${encodeURIComponent(first.name)}` });
  const update = (session) =>
    fill(
      link,
      h('span', { class: 'line' }, h('strong', {}, session.name), pill(session.status)),
      h(
        'span',
        { class: 'meta' },
        escapeHostile(session.harness),
        ' in ',
        session.runtime,
        ' · ',
        escapeHostile(session.workspace),
        ' · ',
        when(session.created),
      ),
    );
  update(first);
  return { element: h('li', {}, link), update };
}

async function one(root, name) {
  const said = h('div', { class: 'said' });
  const title = h('div', { class: 'title' });
  const about = h('section', { class: 'card', 'aria-labelledby': 'facts' });
  const records = createRecords(most);
  const events = agentBlock('', 'events of the supervisor');
  const words = agentBlock('', 'what the gateway said');
  let before = '';

  const load = async () => {
    const { session, calls, events: told, gateway_log: spoken } = await get(to('sessions', name));
    fill(said);
    records.add(calls.toReversed());
    events.textContent = escapeLines(told.join('\n') || 'nothing');
    words.textContent = escapeLines(spoken.join('\n') || 'nothing');
    const now = JSON.stringify(session);
    if (now === before) return;
    before = now;
    fill(title, heading(name), pill(session.status));
    fill(about, h('h2', { id: 'facts' }, 'Facts'), factsOf(session));
  };

  await load();
  fill(
    root,
    h('p', { class: 'crumbs' }, h('a', { href: '#/sessions' }, 'Sessions'), ' / ', name),
    said,
    title,
    about,
    h('section', { 'aria-labelledby': 'calls' }, h('h2', { id: 'calls' }, 'Calls'), records.element),
    h(
      'section',
      { 'aria-labelledby': 'logs' },
      h('h2', { id: 'logs' }, 'Logs'),
      h('h3', {}, 'Supervisor'),
      events,
      h('h3', {}, 'Gateway'),
      words,
    ),
    h('p', {}, h('a', { href: `#/restart/${encodeURIComponent(name)}` }, 'Restart its gateway …')),
  );
  const poll = createPoll(() => load().catch((error) => fill(said, trouble(error))), againMs);
  poll.start();
  return {
    title: name,
    leave: () => poll.stop(),
    records: (fresh) => records.add(fresh.filter((record) => record.session === name)),
  };
}

function factsOf(session) {
  const found = session.preflight ?? [];
  const { supervisor, gateway, health } = session;
  return facts(
    ['Harness', escapeHostile(session.harness)],
    ['Runtime', session.runtime],
    ['Network', session.network ?? 'not known'],
    ['Workspace', word(session.workspace)],
    ['Config', word(session.config)],
    ['Started', when(session.created)],
    [
      'Supervisor',
      `pid ${supervisor.pid}, ${supervisor.answers ? 'answers' : supervisor.alive ? 'does not answer' : 'gone'}`,
    ],
    ['Gateway', gateway === null ? 'none' : `pid ${gateway.pid}, ${gateway.alive ? 'runs' : 'gone'}`],
    ['Health', pill(health.status)],
    health.reasons.length > 0 ? ['Why', escapeHostile(health.reasons.join('; '))] : null,
    [
      'Checks inside',
      session.preflight === null
        ? 'have not run'
        : found.length === 0
          ? 'nothing found'
          : h(
              'ul',
              {},
              found.map(({ check, level, detail, mend }) =>
                h('li', {}, escapeHostile(`${level}: ${check}: ${detail} (${mend})`)),
              ),
            ),
    ],
  );
}
