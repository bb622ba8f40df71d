/** The rules of one tool: tried while they are typed, written only after the difference was shown. */
import { get, post, to } from './api.js';
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
            h('span', { class: 'meta' }, escapeHostile(binary), guard === 'none' ? '' : ` · guard: ${guard}`),
          ),
        ),
      ),
    ),
  );
  return { title: 'Rules' };
}

async function one(root, app, tool) {
  /** `drafts`: what was typed, by section. `judged`: the wish whose difference is shown; only that one is saved. */
  const state = { hash: '', section: 'allow', sections: [], drafts: {}, asked: 0, timer: null, judged: null };
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
    { type: 'button', id: 'reread', onclick: () => void again() },
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

  /** Nothing is typed or pressed while the file is read or written: the answer would be about something else. */
  async function held(work) {
    forget();
    const controls = [text, save, reread, ...tabs.children];
    for (const control of controls) control.disabled = true;
    try {
      await work();
    } finally {
      reread.disabled = false;
      for (const tab of tabs.children) tab.disabled = false;
      text.disabled = sectionOf(state.section)?.why !== null;
    }
  }

  async function load(drafts = {}) {
    const found = await get(to('tools', tool));
    Object.assign(state, { hash: found.hash, sections: found.sections, drafts });
    fill(file, 'Of ', word(found.file), '. All other lines stay as they are, byte for byte.');
    fill(said);
    choose(state.section, found);
  }

  async function again() {
    await held(() => load()).catch((error) => fill(said, trouble(error)));
    reread.focus();
  }

  const sectionOf = (name) => state.sections.find((entry) => entry.name === name);

  /** What was judged is not what is there now, whatever is still on its way. */
  function forget() {
    clearTimeout(state.timer);
    state.asked += 1;
    state.judged = null;
    save.disabled = true;
  }

  function choose(name, found = null) {
    forget();
    state.section = name;
    const section = sectionOf(name);
    const draft = state.drafts[name] ?? section.text;
    text.value = draft;
    text.placeholder =
      section.why ??
      (section.text === '' ? `${section.indent}${name}:\n${section.indent}  - subcommand: …` : '');
    text.disabled = section.why !== null;
    text.removeAttribute('aria-invalid');
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
    if (draft !== section.text) void judge();
  }

  function typed() {
    forget();
    state.drafts[state.section] = text.value;
    state.timer = setTimeout(() => void judge(), pauseMs);
  }

  async function judge() {
    const asked = ++state.asked;
    const wish = { section: state.section, text: text.value, hash: state.hash };
    try {
      const found = await post(to('tools', tool, 'check'), wish);
      if (asked !== state.asked) return;
      const fine = found.problems.length === 0;
      text.setAttribute('aria-invalid', String(!fine));
      const writable = fine && found.diff !== '' && !found.stale;
      state.judged = writable ? wish : null;
      save.disabled = !writable;
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
    const wish = state.judged;
    if (wish === null) return;
    try {
      await held(async () => {
        const done = await post(to('tools', tool, 'save'), wish);
        const text = done.changed
          ? 'Written. Running gateways take it up at once.'
          : 'Nothing had to change.';
        const node = h('div', { class: 'done', role: 'status' }, h('p', {}, text));
        const { [wish.section]: _written, ...others } = state.drafts;
        await load(others).catch((error) => node.append(trouble(error)));
        fill(said, node);
      });
    } catch (error) {
      fill(said, trouble(error));
      // With what the file is now: whether it can be saved at all, and what it would do.
      void judge();
    }
    text.focus({ preventScroll: true });
    said.scrollIntoView({ block: 'nearest' });
  }

  text.addEventListener('input', typed);
  await load();
  return { title: `Rules of ${escapeHostile(tool)}`, leave: forget };
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
