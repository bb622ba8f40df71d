/** The log: what was asked, decided and done, as it comes; and the whole story of one call. */
import { get } from './api.js';
import { fill, h, heading } from './dom.js';
import { createRecords } from './records.js';
import { escapeHostile } from './text.js';

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
  const records = createRecords(most);
  /** What comes while an answer is on its way, which may be older than that. */
  let meanwhile = null;
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
    meanwhile = [];
    let found = [];
    let remarked;
    try {
      ({ records: found } = await get(`log?${new URLSearchParams(filter)}`));
      remarked = found.length === 0 ? 'No record fits.' : `The newest ${found.length}.`;
    } catch (error) {
      remarked = escapeHostile(error.message);
    }
    if (mine !== asked) return;
    records.clear();
    records.add(found.toReversed());
    records.add(meanwhile);
    meanwhile = null;
    remark.textContent = remarked;
  }

  const changed = () => {
    clearTimeout(timer);
    remark.textContent = 'Looking …';
    timer = setTimeout(() => {
      filter.events = select.value;
      filter.text = text.value;
      void load();
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
    records.element,
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
      meanwhile?.push(...wanted);
      records.add(wanted);
    },
  };
}

async function why(root, seq) {
  const { records: story } = await get(`log/why?seq=${encodeURIComponent(seq)}`);
  const records = createRecords(story.length);
  records.add(story.toReversed());
  fill(
    root,
    h('p', { class: 'crumbs' }, h('a', { href: '#/audit' }, 'Audit'), ' / ', escapeHostile(seq)),
    heading('The story of one call'),
    records.element,
  );
  return { title: 'One call' };
}
