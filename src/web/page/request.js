/** One request: what is asked, what it would change, and the decision. An approval is bound to what is shown here. */
import { get, post, to } from './api.js';
import { approval, approvedText, choice, denial } from './decision.js';
import { agentBlock, call, fill, h, heading, pill, trouble } from './dom.js';
import { createGuard } from './guard.js';
import { change, decided, lengthOf, marked, whatRuns } from './review.js';
import { escapeHostile } from './text.js';

export async function show(root, app, [id, focus]) {
  const kept = choice();
  const said = h('div', { class: 'said' });
  const body = h('div', {});
  const guard = createGuard(() => body.querySelectorAll('button, #wide'));
  /** What is on the page: a review, and whether it is the wide one. */
  let shown = null;
  let deciding = false;
  let left = false;
  let asked = 0;
  fill(
    root,
    h('p', { class: 'crumbs' }, h('a', { href: '#/requests' }, 'Requests'), ' / ', escapeHostile(id)),
    said,
    body,
  );

  /** Of two that are on their way only the later one is shown. */
  async function load(wide) {
    const mine = ++asked;
    const review = await guard.during(() => get(`${to('requests', id)}${wide ? '?wide=1' : ''}`));
    if (mine !== asked) return;
    shown = { review, wide };
    fill(body, ...view(shown));
    guard.changed();
  }

  /** A view that is left is not looked at any more. */
  function tell(node) {
    fill(left ? app.said : said, node);
  }

  /** Disabling takes the focus away, and so does a redraw. */
  async function keepingFocus(work) {
    const before = document.activeElement;
    const mine = body.contains(before);
    await work();
    if (!mine || left || body.contains(document.activeElement)) return;
    (body.contains(before) ? before : body.querySelector('h1')).focus({ preventScroll: true });
  }

  function view({ review, wide }) {
    const open = isOpen(review.status);
    const words = review.call ?? [
      review.tool,
      ...(review.argv ?? [review.subcommand, ...review.flags, ...(review.args ?? [])]),
    ];
    return [
      h(
        'div',
        { class: 'title' },
        heading(review.argv === null ? 'A capability is asked for' : 'A call is asked for'),
        pill(review.status),
      ),
      h('div', { class: 'card' }, call(words, 'what is asked for'), lengthOf(words), marked(words)),
      decided(review),
      h(
        'section',
        { class: 'card', 'aria-labelledby': 'why' },
        h('h2', { id: 'why' }, 'Why ', h('span', { class: 'by' }, 'the agent’s words')),
        agentBlock(review.rationale, 'the agent’s reason'),
        review.enables
          ? h('h3', {}, 'What it would make possible ', h('span', { class: 'by' }, 'the agent’s words'))
          : null,
        review.enables ? agentBlock(review.enables, 'what it would make possible, by the agent') : null,
      ),
      h(
        'section',
        { class: 'card', 'aria-labelledby': 'what' },
        h('h2', { id: 'what' }, 'What would run'),
        whatRuns(review),
      ),
      h(
        'section',
        { class: 'card', 'aria-labelledby': 'change' },
        h('h2', { id: 'change' }, 'The change'),
        ...change(review),
      ),
      open && app.role === 'operator' ? decision({ review, wide }) : null,
      open && app.role !== 'operator'
        ? h('p', { class: 'empty' }, 'This login may look, and change nothing.')
        : null,
    ];
  }

  function decision({ review, wide }) {
    const approvable = review.config_problem === null && review.change?.ok === true;
    const { digest } = review;
    const approve = (scope) =>
      act(() => post(to('requests', id, 'approve'), { ...scope, wide, digest }), approvedText);
    const deny = (reason) =>
      act(
        () => post(to('requests', id, 'deny'), { reason }),
        () => 'Denied.',
      );
    return h(
      'div',
      { class: 'decide' },
      approvable ? approval({ review, wide }, kept, { approve, rewide }) : null,
      denial(kept, deny),
    );
  }

  async function rewide(wide) {
    try {
      await load(wide);
    } catch (error) {
      tell(trouble(error));
      // What is shown is still the other one.
      body.querySelector('#wide').checked = shown.wide;
    }
    body.querySelector('#wide')?.focus();
  }

  /** The answer is told together with what is there then; while it is decided here, what others decide is told by it. */
  async function act(send, text) {
    if (!guard.open()) return;
    deciding = true;
    await keepingFocus(() => guard.during(() => sendAndShow(send, text)));
    deciding = false;
    said.scrollIntoView({ block: 'nearest' });
  }

  async function sendAndShow(send, text) {
    let node;
    try {
      const done = await send();
      const notes = (done.notes ?? []).map((note) => h('p', {}, escapeHostile(note)));
      node = h('div', { class: 'done', role: 'status' }, h('p', {}, text(done)), ...notes);
    } catch (error) {
      node = trouble(error);
      // Decided elsewhere, or something else than was shown: only what is there now may be decided on.
      if (error.status !== 409) return tell(node);
    }
    try {
      await load(shown.wide);
      tell(node);
    } catch (error) {
      tell(h('div', {}, node, trouble(error)));
    }
  }

  await load(false);
  return {
    leave: () => (left = true),
    shown: () => (focus === 'approve' || focus === 'deny') && aim(focus),
    title: escapeHostile(id),
    key: (name) => (name === 'a' ? aim('approve') : name === 'd' ? aim('deny') : false),
    requests: ({ pending, decided: past }) => {
      const now = [...pending, ...past].find((request) => request.id === id);
      // A list that was on its way may be older than what is shown: nothing that is decided is pending again.
      if (now === undefined || deciding || !isOpen(shown.review.status) || isOpen(now.status)) return;
      const { decision: by } = now;
      const text = `This request is ${now.status} now${by ? `, by ${escapeHostile(by.actor)}` : ''}.`;
      const node = h('div', { class: 'trouble', role: 'alert' }, h('p', {}, text));
      void keepingFocus(() =>
        load(shown.wide).then(
          () => tell(node),
          (error) => tell(h('div', {}, node, trouble(error))),
        ),
      );
    },
  };
}

const isOpen = (status) => status === 'pending' || status === 'expired';

/** To what would decide; the deciding itself takes another press, on what it says. */
function aim(what) {
  const target = document.querySelector(what === 'approve' ? 'input[name=scope]:checked' : '#reason');
  target?.focus();
  target?.closest('form')?.scrollIntoView({ block: 'nearest' });
  return true;
}
