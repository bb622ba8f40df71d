/** Sessions: which live, how they are, and what they call. */
import { get } from './api.js';
import { agentBlock, facts, fill, h, heading, pill, trouble, when, word } from './dom.js';
import { escapeHostile } from './text.js';
import { row, table } from './audit.js';

const most = 100;
const againMs = 3_000;

export async function show(root, app, [name]) {
  return name ? one(root, name) : all(root);
}

async function all(root) {
  const list = h('div', {});
  let before = '';
  const load = async () => {
    const { sessions } = await get('sessions');
    const now = JSON.stringify(sessions);
    if (now === before) return;
    before = now;
    fill(
      list,
      sessions.length === 0
        ? h('p', { class: 'empty' }, 'No session runs. “wraptool up HARNESS” starts one.')
        : null,
      h(
        'ul',
        { class: 'list' },
        sessions.map((session) =>
          h(
            'li',
            {},
            h(
              'a',
              { class: 'request', href: `#/sessions/${session.name}` },
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
            ),
          ),
        ),
      ),
    );
  };
  fill(root, heading('Sessions'), list);
  await load();
  const timer = setInterval(() => load().catch((error) => fill(list, trouble(error))), againMs);
  return { title: 'Sessions', leave: () => clearInterval(timer) };
}

async function one(root, name) {
  const { session, calls, events, gateway_log: words } = await get(`sessions/${encodeURIComponent(name)}`);
  const rows = h('tbody', {}, calls.map(row));
  const found = session.preflight ?? [];
  fill(
    root,
    h('p', { class: 'crumbs' }, h('a', { href: '#/sessions' }, 'Sessions'), ' / ', name),
    h('div', { class: 'title' }, heading(name), pill(session.status)),
    h(
      'section',
      { class: 'card', 'aria-labelledby': 'facts' },
      h('h2', { id: 'facts' }, 'Facts'),
      facts(
        ['Harness', escapeHostile(session.harness)],
        ['Runtime', session.runtime],
        ['Network', session.network ?? 'not known'],
        ['Workspace', word(session.workspace)],
        ['Config', word(session.config)],
        ['Started', when(session.created)],
        [
          'Supervisor',
          `pid ${session.supervisor.pid}, ${session.supervisor.answers ? 'answers' : session.supervisor.alive ? 'does not answer' : 'gone'}`,
        ],
        [
          'Gateway',
          session.gateway === null
            ? 'none'
            : `pid ${session.gateway.pid}, ${session.gateway.alive ? 'runs' : 'gone'}`,
        ],
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
      ),
    ),
    h('section', { 'aria-labelledby': 'calls' }, h('h2', { id: 'calls' }, 'Calls'), table(rows)),
    h(
      'section',
      { 'aria-labelledby': 'logs' },
      h('h2', { id: 'logs' }, 'Logs'),
      h('h3', {}, 'Supervisor'),
      agentBlock(events.join('\n') || 'nothing', 'events of the supervisor'),
      h('h3', {}, 'Gateway'),
      agentBlock(words.join('\n') || 'nothing', 'what the gateway said'),
    ),
    h('p', {}, h('a', { href: `#/restart/${encodeURIComponent(name)}` }, 'Restart its gateway …')),
  );
  return {
    title: name,
    records: (fresh) => {
      rows.prepend(
        ...fresh
          .filter((record) => record.session === name)
          .toReversed()
          .map(row),
      );
      while (rows.children.length > most) rows.lastChild.remove();
    },
  };
}
