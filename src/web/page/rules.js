/** The rules of one tool: tried while they are typed, written only after the difference was shown. */
import { get, post } from './api.js';
import { call, diff, fill, h, heading, trouble, word } from './dom.js';
import { escapeHostile } from './text.js';

const pauseMs = 250;

export async function show(root, app, [tool]) {
  return tool ? one(root, app, tool) : all(root);
}

async function all(root) {
  const { tools, file } = await get('tools');
  fill(
    root,
    heading('Rules'),
    h('p', {}, 'Of ', word(file)),
    tools.length === 0 ? h('p', { class: 'empty' }, 'The config has no tools.') : null,
    h(
      'ul',
      { class: 'list' },
      tools.map(({ name, binary, guard }) =>
        h(
          'li',
          {},
          h(
            'a',
            { class: 'request', href: `#/rules/${encodeURIComponent(name)}` },
            h('strong', {}, name),
            h('span', { class: 'meta' }, binary, guard === 'none' ? '' : ` · guard: ${guard}`),
          ),
        ),
      ),
    ),
  );
  return { title: 'Rules' };
}

async function one(root, app, tool) {
  const state = { hash: '', section: 'allow', sections: [], before: '', asked: 0, timer: null };
  const said = h('div', { class: 'said' });
  const text = h('textarea', {
    id: 'rules-text',
    class: 'code',
    rows: '14',
    spellcheck: 'false',
    autocapitalize: 'off',
    autocomplete: 'off',
    wrap: 'off',
    'aria-describedby': 'judged',
    readonly: app.role !== 'operator',
  });
  const tabs = h('div', { class: 'tabs', role: 'group', 'aria-label': 'Which rules' });
  const judged = h('div', { id: 'judged', class: 'judged', 'aria-live': 'polite' });
  const save = h(
    'button',
    { type: 'button', id: 'save', class: 'primary', disabled: true, onclick: () => void write() },
    'Save',
  );
  const reread = h(
    'button',
    { type: 'button', id: 'reread', onclick: () => void load() },
    'Read the file again',
  );
  const file = h('p', {});
  fill(
    root,
    h('p', { class: 'crumbs' }, h('a', { href: '#/rules' }, 'Rules'), ' / ', escapeHostile(tool)),
    heading(`Rules of ${escapeHostile(tool)}`),
    file,
    said,
    h(
      'div',
      { class: 'editor card' },
      tabs,
      h('label', { for: 'rules-text' }, 'As it stands in the file'),
      text,
      judged,
      app.role === 'operator' ? h('div', { class: 'buttons' }, save, reread) : null,
    ),
  );

  async function load() {
    const found = await get(`tools/${encodeURIComponent(tool)}`);
    Object.assign(state, { hash: found.hash, sections: found.sections });
    fill(file, 'Of ', word(found.file), '. All other lines stay as they are, byte for byte.');
    fill(said);
    choose(state.section, found);
  }

  function choose(name, found = null) {
    state.section = name;
    const section = state.sections.find((entry) => entry.name === name);
    state.before = section.text;
    text.value = section.text;
    text.placeholder =
      section.why ??
      (section.text === '' ? `${section.indent}${name}:\n${section.indent}  - subcommand: …` : '');
    text.disabled = section.why !== null;
    save.disabled = true;
    fill(
      tabs,
      state.sections.map((entry) =>
        h(
          'button',
          { type: 'button', 'aria-pressed': String(entry.name === name), onclick: () => choose(entry.name) },
          entry.name,
        ),
      ),
    );
    fill(
      judged,
      section.why ? h('p', { class: 'warn' }, escapeHostile(section.why)) : null,
      ...(found ? remarks(found) : []),
    );
  }

  function typed() {
    clearTimeout(state.timer);
    save.disabled = true;
    state.timer = setTimeout(() => void judge(), pauseMs);
  }

  async function judge() {
    const asked = ++state.asked;
    const wish = { section: state.section, text: text.value, hash: state.hash };
    try {
      const found = await post(`tools/${encodeURIComponent(tool)}/check`, wish);
      if (asked !== state.asked) return;
      const fine = found.problems.length === 0;
      text.setAttribute('aria-invalid', String(!fine));
      save.disabled = !fine || found.diff === '' || found.stale;
      fill(
        judged,
        found.stale
          ? h(
              'p',
              { class: 'trouble' },
              'The file has changed on disk since it was read. Read it again before you save; copy what you typed.',
            )
          : null,
        fine
          ? null
          : h(
              'ul',
              { class: 'problems' },
              found.problems.map(({ message }) => h('li', {}, escapeHostile(message))),
            ),
        ...remarks(found),
        found.diff === ''
          ? fine
            ? h('p', {}, 'Nothing is changed.')
            : null
          : h('div', {}, h('h2', {}, 'What would be written'), diff(found.diff, 'the change to the config')),
        ...newly(found.past),
      );
    } catch (error) {
      if (asked === state.asked) fill(judged, trouble(error));
    }
  }

  async function write() {
    save.disabled = true;
    try {
      const done = await post(`tools/${encodeURIComponent(tool)}/save`, {
        section: state.section,
        text: text.value,
        hash: state.hash,
      });
      await load();
      fill(
        said,
        h(
          'div',
          { class: 'done' },
          h(
            'p',
            {},
            done.changed ? 'Written. Running gateways take it up at once.' : 'Nothing had to change.',
          ),
        ),
      );
    } catch (error) {
      fill(said, trouble(error));
    }
    said.scrollIntoView({ block: 'nearest' });
  }

  text.addEventListener('input', typed);
  await load();
  return { title: `Rules of ${tool}`, leave: () => clearTimeout(state.timer) };
}

function remarks({ lints, examples }) {
  return [
    lints.length > 0
      ? h(
          'ul',
          { class: 'lints' },
          lints.map(({ message, fresh }) =>
            h(
              'li',
              { class: fresh ? 'fresh' : '' },
              fresh ? h('strong', {}, 'new: ') : null,
              escapeHostile(message),
            ),
          ),
        )
      : null,
    examples > 0
      ? h('p', { class: 'hint' }, `Examples of the rules that were tried, and hold: ${examples}.`)
      : null,
  ];
}

function newly(past) {
  if (past === null || past === undefined || past.calls.length === 0) return [];
  return [
    h('h2', {}, 'Refused calls that it would allow'),
    h(
      'ul',
      { class: 'calls' },
      past.calls.map((words) => h('li', {}, call(words, 'a refused call'))),
    ),
  ];
}
