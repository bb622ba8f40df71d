/** Records of the log as a table that grows at its top. */
import { h } from './dom.js';
import { cut, escapeHostile, renderArgv } from './text.js';

/** At most `most` rows, the newest first; one that is there already is not put there again. */
export function createRecords(most) {
  const rows = h('tbody', {});
  let known = new Map();
  return {
    element: table(rows),
    size: () => known.size,
    /** The oldest first, as they come. */
    add(fresh) {
      for (const record of fresh) {
        if (known.has(record.seq)) continue;
        const element = row(record);
        known.set(record.seq, element);
        rows.prepend(element);
      }
      for (const [seq, element] of known) {
        if (known.size <= most) break;
        element.remove();
        known.delete(seq);
      }
    },
    clear() {
      rows.replaceChildren();
      known = new Map();
    },
  };
}

function table(rows) {
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

function row(record) {
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
      return `${record.name} ${record.argv ? argvOf(record) : (record.arguments ?? '')} from ${record.client}`;
    case 'decided':
      return `${record.decision} ${argvOf(record, record.tool)}${record.reason ? ` ${record.reason}: ${record.detail ?? ''}` : ''}${record.rule ? ` by ${record.rule.effect} rule in line ${record.rule.line}` : ''}`;
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

/** What the log itself does not have whole is said. */
function argvOf({ argv, argv_cut: left }, ...before) {
  const words = renderArgv([...before, ...(argv ?? [])]);
  return typeof left === 'object'
    ? `${words} (the beginning of ${left.words} words, ${left.chars} characters)`
    : words;
}
