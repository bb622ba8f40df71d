/** Elements. Text gets in as text alone: nothing here reads markup. */
import { ago, cut, escapeHostile, escapeLines } from './text.js';

/** `h('p', { class: 'x', onclick }, 'text', node)`: strings become text nodes, null is left out. */
export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === 'function') element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? '' : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** Text of an agent on one line, in a box that says so. */
export function agent(text) {
  return h('span', { class: 'agent', dir: 'ltr' }, cut(escapeHostile(text)));
}

/** A longer text of an agent: newlines stay, everything hidden is shown, and a long one scrolls in its own box. */
export function agentBlock(text, label) {
  return h(
    'div',
    { class: 'agent block', dir: 'ltr', tabindex: '0', role: 'group', 'aria-label': label },
    cut(escapeLines(text)),
  );
}

/** One word of a call. What is not ASCII is marked: it may look like something else. */
export function word(text) {
  const parts = cut(escapeHostile(text)).split(/([^\x20-\x7e]+)/u);
  return h(
    'code',
    { class: 'word', dir: 'ltr' },
    parts.map((part, index) =>
      index % 2 === 1
        ? h(
            'mark',
            {
              title: Array.from(part)
                .map((one) => `U+${one.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}`)
                .join(' '),
            },
            part,
          )
        : part,
    ),
  );
}

/** A call as a list of its words. */
export function call(words, label) {
  return h(
    'ol',
    { class: 'call', 'aria-label': label },
    words.map((one) => h('li', {}, word(one))),
  );
}

/** A unified diff, line by line. */
export function diff(text, label) {
  const lines = text.replace(/\n$/, '').split('\n');
  const kinds = { '+': 'added', '-': 'removed', '@': 'place' };
  return h(
    'pre',
    { class: 'diff', tabindex: '0', role: 'group', 'aria-label': label },
    lines.map((line) => h('span', { class: kinds[line[0]] ?? 'same' }, `${escapeHostile(line)}\n`)),
  );
}

export function facts(...rows) {
  return h(
    'dl',
    { class: 'facts' },
    rows.filter((row) => row !== null).flatMap(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]),
  );
}

export function when(time) {
  return h('time', { datetime: time, title: `${time.slice(0, 19).replace('T', ' ')} UTC` }, ago(time));
}

export function pill(status) {
  return h(
    'span',
    { class: `pill ${/^[a-z ]+$/.test(status) ? status.split(' ')[0] : ''}` },
    escapeHostile(status),
  );
}

export function heading(text) {
  return h('h1', { tabindex: '-1' }, text);
}

export function fill(element, ...children) {
  element.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined));
}

/** What went wrong, where it went wrong. */
export function trouble(error) {
  return h(
    'div',
    { class: 'trouble', role: 'alert' },
    h('p', {}, escapeHostile(error.message)),
    (error.problems ?? []).length > 0
      ? h(
          'ul',
          {},
          error.problems.map((problem) => h('li', {}, escapeHostile(problem))),
        )
      : null,
    error.hint ? h('p', { class: 'hint' }, escapeHostile(error.hint)) : null,
  );
}
