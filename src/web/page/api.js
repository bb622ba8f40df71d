/** Talking to wraptool. The login's token is this tab's alone: no cookie, which all ports of a host would share. */

const key = 'wraptool-login';

export const session = {
  get: () => JSON.parse(sessionStorage.getItem(key) ?? 'null'),
  set: (login) => sessionStorage.setItem(key, JSON.stringify(login)),
  clear: () => sessionStorage.removeItem(key),
};

export class ApiError extends Error {
  constructor(status, { code, message, hint = null, problems = [] }) {
    super(message);
    Object.assign(this, { status, code, hint, problems });
  }
}

const listeners = new Set();
/** Called when the login is over, whoever ended it. */
export const onLoggedOut = (listener) => listeners.add(listener);

async function send(path, options = {}) {
  const login = session.get();
  const headers = { ...options.headers };
  if (login !== null) headers.authorization = `Bearer ${login.token}`;
  let response;
  try {
    response = await fetch(`api/${path}`, { ...options, headers, credentials: 'omit', cache: 'no-store' });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new ApiError(0, { code: 'unreachable', message: 'wraptool does not answer: has it ended?' });
  }
  if (response.ok) return response;
  const { error } = await response
    .json()
    .catch(() => ({ error: { code: 'internal', message: response.statusText } }));
  // One that came too late says nothing of the login that is in its place.
  if (response.status === 401 && path !== 'login' && login?.token === session.get()?.token) {
    session.clear();
    for (const listener of listeners) listener();
  }
  throw new ApiError(response.status, error);
}

/** The path of an address' parts. One that would climb, or hold a path of its own, is no part of one. */
export function to(...parts) {
  if (parts.some((part) => !/^(?!\.+$)[\w.+-]+$/.test(part)))
    throw new ApiError(404, { code: 'not_found', message: 'there is nothing of that name' });
  return parts.join('/');
}

export const get = async (path) => (await send(path)).json();

export const post = async (path, body = {}) =>
  (
    await send(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  ).json();

/** Server-sent events, by fetch: an EventSource can send no token. Runs until the signal; `state` hears of the line. */
export async function follow(take, state, signal) {
  for (let wait = 250; !signal.aborted; wait = Math.min(wait * 2, 5_000)) {
    try {
      const response = await send('events', { signal });
      state(true);
      wait = 250;
      await read(response.body.pipeThrough(new TextDecoderStream()).getReader(), take);
    } catch (error) {
      if (signal.aborted || error.status === 401) return;
    }
    state(false);
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}

async function read(reader, take) {
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const events = (rest + value).split('\n\n');
    rest = events.pop();
    for (const event of events) {
      const [, name, data] = /^event: (\w+)\ndata: (.*)$/s.exec(event) ?? [];
      if (name !== undefined) take(name, JSON.parse(data));
    }
  }
}
