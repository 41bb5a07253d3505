// A server that cannot be reached: a message on the page that offers to try again.

import { APIError } from '../../shared/api.js';
import { fill, h } from '../../shared/dom.js';
import { t } from '../../shared/i18n.js';
import { server } from '../../shared/settings.js';

/**
 * Shows while the browser is offline that it is.
 * @param back is called when the connection is back.
 */
export function watchConnection(back) {
  const text = h('span');
  const bar = h('div.offline', { role: 'status' }, text);
  const draw = () => {
    if (navigator.onLine !== false) return bar.remove();
    document.body.prepend(bar);
    fill(text, t('offline.text'));
  };
  addEventListener('offline', draw);
  addEventListener('online', () => {
    draw();
    back();
  });
  draw();
}

/**
 * Handles the error of a module that could not be loaded. After an upgrade the page names files that no longer exist
 * and is loaded again, but only when the server can be reached: otherwise the browser would show its own error page.
 * @throws the error, or an APIError when the server cannot be reached.
 */
export async function missingModule(error) {
  if (!(error instanceof TypeError && /module/i.test(error.message))) throw error;
  const answer = await fetch(`${server.mount}/health`, { credentials: 'omit', cache: 'no-store' }).catch(() => null);
  if (!answer) throw new APIError(100, error.message);
  if (reloadOnce()) await new Promise(() => {});
  throw error;
}

const RELOADED = 'satchel.reloaded';
/** Milliseconds within which the page is not loaded anew again: that did not help. */
const ONCE = 60_000;

function reloadOnce() {
  try {
    if (Math.abs(Date.now() - Number(sessionStorage.getItem(RELOADED))) < ONCE) return false;
    sessionStorage.setItem(RELOADED, Date.now());
  } catch {
    return false;
  }
  location.reload();
  return true;
}

/** The page without its texts, which could not be loaded; therefore in English. */
export function withoutTexts() {
  const again = h('button', { type: 'button', onclick: () => location.reload() }, 'Try again');
  const text = h('p', 'The server cannot be reached.');
  fill(document.body, h('main.entry', h('section.sorry', h('h1', server.shop), text, again)));
  return new Promise(() => {});
}
