/** The page: login, which view is shown, what is live, and the keys. */
import { follow, get, onLoggedOut, post, session } from './api.js';
import { fill, h, heading, trouble } from './dom.js';
import { logIn } from './login.js';
import * as requests from './requests.js';

const [top, skip, main, said, count, help, live, role] = [
  'top',
  'skip',
  'main',
  'said',
  'count',
  'help',
  'live',
  'role',
].map((id) => document.getElementById(id));

/** Loaded when they are first looked at. */
const views = {
  requests: async () => requests,
  request: () => import('./request.js'),
  rules: () => import('./rules.js'),
  sessions: () => import('./sessions.js'),
  audit: () => import('./audit.js'),
  why: () => import('./audit.js'),
  restart: () => import('./restart.js'),
};
const titles = { rules: 'Rules', sessions: 'Sessions', audit: 'Audit', why: 'One call', restart: 'Restart' };

const nothing = { pending: [], waiting: 0, decided: [], grants: [], more: 0 };
const app = {
  role: 'viewer',
  requests: nothing,
  said,
  say(text) {
    fill(said, h('p', {}, text));
  },
  /** The requests as they are now, whether or not the line is up. */
  async refresh() {
    take('requests', await get('requests'));
  },
};

let shown = null;
let name = 'requests';
let turn = 0;
let following = null;
/** Events that came while a view was being made: it hears them when it is there. */
let missed = [];

function retitle() {
  const { waiting } = app.requests;
  const what = shown?.title ?? titles[name] ?? 'Requests';
  document.title = `${waiting > 0 ? `(${waiting}) ` : ''}${what} – wraptool`;
  count.hidden = waiting === 0;
  count.textContent = String(waiting);
  count.setAttribute('aria-label', `${waiting} waiting`);
}

async function route() {
  if (session.get() === null) return;
  const mine = ++turn;
  const [view = '', ...rest] = location.hash.replace(/^#\/?/, '').split('/');
  name = Object.hasOwn(views, view) ? view : 'requests';
  shown?.leave?.();
  shown = null;
  missed = [];
  for (const link of document.querySelectorAll('nav a')) {
    const here =
      link.dataset.view === { request: 'requests', why: 'audit' }[name] || link.dataset.view === name;
    if (here) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  fill(said);
  const root = h('div', { class: `view ${name}` });
  try {
    const module = await views[name]();
    const made = await module.show(root, app, rest.map(decodeURIComponent), name);
    if (mine !== turn) return void made?.leave?.();
    shown = made ?? null;
    fill(main, root);
    if (mine === 1) {
      performance.mark('first-view');
      // Opened next, most likely; where it cannot be had now, opening it says so.
      setTimeout(() => void views.request().catch(() => undefined));
    }
    shown?.shown?.();
    for (const [event, data] of missed.splice(0)) shown?.[event]?.(data);
  } catch (error) {
    if (mine !== turn || session.get() === null) return;
    shown = {};
    fill(main, heading('That did not work'), trouble(error));
  }
  retitle();
  if (!main.contains(document.activeElement)) main.querySelector('h1')?.focus({ preventScroll: true });
  window.scrollTo(0, 0);
}

function take(event, data) {
  // One that was on its way when the login ended is nobody's.
  if (session.get() === null) return;
  if (event === 'requests') {
    const before = new Set(app.requests.pending.map(({ id }) => id));
    app.requests = data;
    const fresh = data.pending.filter(({ id }) => !before.has(id));
    if (fresh.length > 0 && started)
      app.say(`${fresh.length === 1 ? 'A new request waits' : `${fresh.length} new requests wait`}.`);
    retitle();
  }
  if (shown === null) missed.push([event, data]);
  else shown[event]?.(data);
}

let started = false;
function connected(yes) {
  live.textContent = yes ? 'live' : 'not connected';
  live.classList.toggle('off', !yes);
  started ||= yes;
}

/** `list`: the requests, where a login brought them along. */
async function enter(list = null) {
  const login = session.get();
  app.role = login.role;
  role.textContent = login.role === 'viewer' ? 'read-only' : '';
  app.requests = list ?? (await get('requests'));
  top.hidden = false;
  skip.hidden = false;
  following?.abort();
  await route();
  following = new AbortController();
  void follow(take, connected, following.signal);
}

function leave(text, error = null) {
  following?.abort();
  following = null;
  turn += 1;
  shown?.leave?.();
  shown = null;
  started = false;
  app.requests = nothing;
  session.clear();
  top.hidden = true;
  skip.hidden = true;
  document.title = 'wraptool';
  fill(said);
  fill(
    main,
    h(
      'div',
      { class: 'card login' },
      heading('wraptool'),
      error ? trouble(error) : h('p', {}, text),
      h('p', {}, 'On the machine where it runs, this prints a link that is good for one login:'),
      h('pre', { class: 'command' }, 'wraptool admin open'),
    ),
  );
}

async function start() {
  let brought = null;
  try {
    brought = await logIn();
  } catch (error) {
    return leave('', error);
  }
  if (session.get() === null) return leave('You are not logged in.');
  try {
    await enter(brought);
  } catch (error) {
    if (session.get() !== null) leave('', error);
  }
}

onLoggedOut(() => leave('You were logged out: the login has ended.'));
const logout = document.getElementById('logout');
logout.addEventListener('click', async () => {
  logout.disabled = true;
  try {
    await post('logout');
    leave('You are logged out.');
  } catch (error) {
    // Nobody has confirmed that the login is dead: that is not to be claimed.
    if (error.status !== 401)
      leave(
        'This tab has forgotten its login, but wraptool could not be told: it ends with the page’s process.',
      );
  } finally {
    logout.disabled = false;
  }
});
document.getElementById('keys').addEventListener('click', () => help.showModal());
window.addEventListener('hashchange', () => {
  if (location.hash.startsWith('#login=')) void start();
  else if (location.hash === '#main') main.focus();
  else void route();
});

// What a browser kept for its back button is as old as it is: whether this login still is one is asked anew.
window.addEventListener('pageshow', (event) => {
  if (event.persisted) location.reload();
});

document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || help.open || session.get() === null) return;
  const typing = event.target.closest?.('input:not([type=radio], [type=checkbox]), textarea, select');
  if (typing) return;
  if (event.key === '?') help.showModal();
  else if (event.key === 'Escape' && name === 'request') location.hash = '#/requests';
  else if (shown?.key?.(event.key) === true || move(event.key)) event.preventDefault();
});

/** j, k, a and d in the list. */
function move(key) {
  if (name !== 'requests') return false;
  const links = [...main.querySelectorAll('a[data-request]')];
  const at = links.indexOf(document.activeElement);
  if (key === 'j' || key === 'k') {
    links[key === 'j' ? Math.min(links.length - 1, at + 1) : Math.max(0, at - 1)]?.focus();
    return true;
  }
  const chosen = links[Math.max(0, at)];
  if ((key !== 'a' && key !== 'd') || chosen?.dataset.status !== 'pending') return false;
  location.hash = `#/request/${chosen.dataset.request}/${key === 'a' ? 'approve' : 'deny'}`;
  return true;
}

void start();
