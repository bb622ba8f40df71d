/** The log: what was asked, decided and done, as it comes; and the whole story of one call. */
import { get } from './api.js';
import { fill, h, heading } from './dom.js';
import { cut, escapeHostile, renderArgv } from './text.js';

const events = [
  'received',
  'decided',
  'finished',
  'requested',
  'approved',
  'denied',
  'granted',
  'revoked',
  'reload',
  'up',
  'down',
  'restart',
  'contamination',
];
const most = 300;

export async function show(root, app, [seq], name) {
  if (name === 'why') return why(root, seq ?? '');
  const filter = { events: '', text: '', session: '' };
  const rows = h('tbody', {});
  const remark = h('p', { class: 'hint', role: 'status' });
  const select = h(
    'select',
    { id: 'event' },
    h('option', { value: '' }, 'all'),
    events.map((event) => h('option', { value: event }, event)),
  );
  const text = h('input', { type: 'search', id: 'text', autocomplete: 'off' });
  let timer = null;
  let asked = 0;

  async function load() {
    const mine = ++asked;
    const { records } = await get(`log?${new URLSearchParams(filter)}`);
    if (mine !== asked) return;
    fill(rows, records.map(row));
    remark.textContent = records.length === 0 ? 'No record fits.' : `The newest ${records.length}.`;
  }

  const changed = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      filter.events = select.value;
      filter.text = text.value;
      load().catch((error) => (remark.textContent = escapeHostile(error.message)));
    }, 200);
  };
  select.addEventListener('change', changed);
  text.addEventListener('input', changed);
  fill(
    root,
    heading('Audit'),
    h(
      'form',
      { class: 'filter', role: 'search', onsubmit: (event) => event.preventDefault() },
      h('label', { for: 'event' }, 'Event'),
      select,
      h('label', { for: 'text' }, 'Text'),
      text,
    ),
    remark,
    table(rows),
  );
  await load();
  return {
    title: 'Audit',
    leave: () => clearTimeout(timer),
    records: (fresh) => {
      const wanted = fresh.filter(
        (record) =>
          (filter.events === '' || record.event === filter.events) &&
          (filter.text === '' || JSON.stringify(record).toLowerCase().includes(filter.text.toLowerCase())),
      );
      rows.prepend(...wanted.toReversed().map(row));
      while (rows.children.length > most) rows.lastChild.remove();
    },
  };
}

async function why(root, seq) {
  const { records } = await get(`log/why?seq=${encodeURIComponent(seq)}`);
  fill(
    root,
    h('p', { class: 'crumbs' }, h('a', { href: '#/audit' }, 'Audit'), ' / ', escapeHostile(seq)),
    heading('The story of one call'),
    table(h('tbody', {}, records.map(row))),
  );
  return { title: 'One call' };
}

export function table(rows) {
  return h(
    'div',
    { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'records' },
    h(
      'table',
      { class: 'records' },
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          ['Time', 'Session', 'Event', 'What', 'Record'].map((name) => h('th', { scope: 'col' }, name)),
        ),
      ),
      rows,
    ),
  );
}

export function row(record) {
  return h(
    'tr',
    {
      class:
        record.decision === 'deny' || record.event === 'denied' || record.event === 'contamination'
          ? 'refused'
          : '',
    },
    h(
      'td',
      {},
      h('time', { datetime: record.time, title: record.time }, new Date(record.time).toLocaleTimeString()),
    ),
    h('td', {}, escapeHostile(record.session ?? '–')),
    h('td', {}, record.event),
    h('td', { class: 'what', dir: 'ltr' }, cut(escapeHostile(what(record)), 600)),
    h('td', {}, h('a', { href: `#/why/${encodeURIComponent(record.seq)}` }, 'why')),
  );
}

function what(record) {
  switch (record.event) {
    case 'received':
      return `${record.name} ${record.argv ? renderArgv(record.argv) : (record.arguments ?? '')} from ${record.client}`;
    case 'decided':
      return `${record.decision} ${renderArgv([record.tool, ...(record.argv ?? [])])}${record.reason ? ` ${record.reason}: ${record.detail ?? ''}` : ''}${record.rule ? ` by ${record.rule.effect} rule in line ${record.rule.line}` : ''}`;
    case 'finished':
      return `${record.outcome}${record.exit_code === null ? '' : ` ${record.exit_code}`}${record.signal === null ? '' : ` ${record.signal}`} after ${record.duration_ms} ms${record.detail === null ? '' : `: ${record.detail}`}`;
    case 'requested':
      return `${record.id} ${renderArgv([record.tool, ...record.subcommand, ...record.flags, ...(record.args ?? [])])}: ${record.rationale}`;
    case 'approved':
      return `${record.id} by ${record.actor}: ${record.scope}`;
    case 'denied':
      return `${record.id} by ${record.actor}: ${record.reason}`;
    case 'granted':
      return `${record.grant} by ${record.actor}: ${record.scope ?? ''}${record.why ? `, ${record.why}` : ''}`;
    case 'revoked':
      return `${record.grant} by ${record.actor}${record.reason ? `: ${record.reason}` : ''}`;
    default: {
      const {
        seq: _seq,
        n: _n,
        time: _time,
        prev: _prev,
        hash: _hash,
        session: _session,
        event: _event,
        back: _back,
        after: _after,
        ...rest
      } = record;
      return JSON.stringify(rest);
    }
  }
}
