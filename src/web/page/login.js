/** A link's secret for a login. It is asked for at once, before the rest of the page is there to show anything. */
import { post, session } from './api.js';

function exchange() {
  const secret = /^#login=([\w-]+)$/.exec(location.hash)?.[1];
  if (secret === undefined) return null;
  // Gone from the address, and from the history, before anything else.
  history.replaceState(null, '', `${location.pathname}#/requests`);
  return post('login', { secret }).then(({ requests, ...login }) => {
    session.set(login);
    return requests;
  });
}

let early = exchange();
// Who asks for it hears of it.
early?.catch(() => undefined);

/** The requests, which a login brings along; null where the address has no secret. Throws what refused it. */
export function logIn() {
  const begun = early ?? exchange();
  early = null;
  return begun;
}
