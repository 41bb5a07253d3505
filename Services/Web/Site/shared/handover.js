// A tab that the operator opens from a signed-in one, by Ctrl-click or the middle button, continues with its session.
//
// The session goes from one window to the other directly, and only to a window that this page has just opened, once.
// It is not broadcast and not stored: another page of this origin, even one with a foreign script in it, cannot ask
// for it, and on a shared computer nothing is left in the browser. Signing out ends the session in all its tabs.

import { auth } from './api.js';

const ASK = 'satchel.session?';
/** Milliseconds in which an opened tab may ask, and in which it waits for the response. */
const VALID = 15_000;
const WAIT = 3_000;

/** The opened windows that may ask, with the time until which they may. */
const opened = new Map();

/** Whether an event asks for a new tab: Ctrl, Command or Shift, or the middle button. */
export function isApart(event) {
  return event.button === 1 || (!event.button && (event.ctrlKey || event.metaKey || event.shiftKey));
}

/** @param base the path above all views, whose links are opened with the session. */
export function shareSession(base) {
  addEventListener('message', answer);
  for (const type of ['click', 'auxclick']) document.addEventListener(type, (event) => follow(event, base));
}

function follow(event, base) {
  const link = event.target.closest?.('a[href]');
  if (!link || event.defaultPrevented || !isApart(event) || !auth.current) return;
  const url = new URL(link.href);
  const isOurs = url.pathname === base || url.pathname.startsWith(`${base}/`);
  if (link.target || url.origin !== location.origin || !isOurs || link.getAttribute('href').startsWith('#')) return;
  const tab = open(url.href, '_blank');
  // A browser that refuses this opens the link by itself, without the session.
  if (!tab) return;
  event.preventDefault();
  for (const [other, until] of opened) if (until < Date.now()) opened.delete(other);
  opened.set(tab, Date.now() + VALID);
}

function answer({ source, origin, data }) {
  if (origin !== location.origin || data !== ASK || !opened.has(source)) return;
  const isInTime = Date.now() <= opened.get(source);
  opened.delete(source);
  if (isInTime && auth.current) source.postMessage({ session: auth.current }, location.origin);
}

/** Takes over the session of the tab that opened this one. @returns the session, or null. */
export async function takeSession() {
  const { opener } = globalThis;
  if (!opener) return null;
  const session = await asked(opener);
  globalThis.opener = null;
  if (session) auth.begin(session.token, session.user, false);
  return session;
}

function asked(opener) {
  return new Promise((resolve) => {
    const hear = ({ source, origin, data }) => {
      const session = data?.session;
      if (source === opener && origin === location.origin && typeof session?.token === 'string') done(session);
    };
    const timer = setTimeout(() => done(null), WAIT);
    function done(session) {
      clearTimeout(timer);
      removeEventListener('message', hear);
      resolve(session);
    }
    addEventListener('message', hear);
    opener.postMessage(ASK, location.origin);
  });
}
