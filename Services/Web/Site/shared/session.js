// The session of the signed-in user. Its token is kept in memory, and in this tab's storage if the user chose that. It is
// not in a cookie, so that no other page can use it.

import { server } from './settings.js';

const KEY = 'satchel.session';

let session = null;
/** Asks the user to sign in again, and that question while it is open. */
let askAgain = null;
let asking = null;
const listeners = new Set();
const interrupted = new Set();

export const auth = {
  /** The signed-in user: `{ token, user }`, or null. */
  get current() {
    return session;
  },
  /** Restores the session that this tab stored. */
  restore() {
    try {
      session = JSON.parse(sessionStorage.getItem(KEY));
    } catch {
      session = null;
    }
    return session;
  },
  begin(token, user, keeps) {
    begin({ token, user }, keeps);
  },
  /** Continues the session with another token, and stores that one if the session was stored. */
  renew(token) {
    begin({ ...session, token }, isStored());
  },
  /** Drops the session without calling the listeners. */
  drop() {
    session = null;
    store(null);
  },
  /** @param expired whether the server ended it. */
  end(expired) {
    auth.drop();
    for (const listener of listeners) listener(expired);
  },
  onEnd(listener) {
    listeners.add(listener);
  },
  /**
   * @param work is called with the user of an expired session and whether it was stored; it resolves when that is
   *   settled. Null ends the session instead.
   */
  onExpired(work) {
    askAgain = work;
  },
  /** @param listener is called when the user is asked to sign in again, with the promise of that question's end. */
  onInterruption(listener) {
    interrupted.add(listener);
  },
  /**
   * Called with a session that the server no longer accepts. @returns whether the same user has signed in again, so that
   * the refused request can be repeated.
   */
  async recover(ended) {
    if (session?.token === ended.token) {
      if (!askAgain) {
        auth.end(true);
        return false;
      }
      const isKept = isStored();
      auth.drop();
      asking = askAgain(ended.user, isKept).finally(() => {
        asking = null;
      });
      for (const listener of interrupted) listener(asking);
    }
    await asking;
    return Boolean(session) && session.user.objectId === ended.user.objectId;
  },
};

function begin(next, keeps) {
  session = next;
  store(keeps ? session : null);
}

function isStored() {
  try {
    return sessionStorage.getItem(KEY) !== null;
  } catch {
    return false;
  }
}

function store(value) {
  try {
    if (value) sessionStorage.setItem(KEY, JSON.stringify(value));
    else sessionStorage.removeItem(KEY);
  } catch {
    // Storage may be forbidden; then the session ends with the page.
  }
}

/** The headers of a request: the app's keys and the session's token. */
export function headers(extra) {
  const all = { 'X-Parse-Application-Id': server.applicationId, ...extra };
  if (server.clientKey) all['X-Parse-Javascript-Key'] = server.clientKey;
  if (session) all['X-Parse-Session-Token'] = session.token;
  return all;
}

/** A promise while the user is asked to sign in again; null otherwise, so that a request is sent at once. */
export function signingIn() {
  if (!asking || session) return null;
  return asking.then(() => {
    if (!session) throw signedOut();
  });
}

/** Sends a request again when it was refused because the session had ended: it had no effect. */
export async function withSession(send) {
  const sender = session;
  try {
    return await send();
  } catch (error) {
    if (!error.isSession || !sender) throw error;
    const isAsked = asking || askAgain;
    if (await auth.recover(sender)) return withSession(send);
    throw isAsked ? signedOut() : error;
  }
}

/** Views do not show it: the page was left. */
const signedOut = () => new DOMException('The session has ended.', 'AbortError');
