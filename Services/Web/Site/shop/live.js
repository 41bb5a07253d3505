// <shop-live>: follows changes of the page's products by others. An event only says that something has changed; what is
// shown comes from the page itself, which is asked for again. The connection has no session.

import { items, notes, renew } from './changes.js';
import { page } from './page.js';
import { Renewal } from './renewal.js';

const FIELDS = ['active', 'name', 'priceUnit', 'stock', 'unitPrice'];
/** Milliseconds for which a note is shown. */
const READ = 10000;

/** The subscription to the products with these ids. */
export const query = (ids) => ({
  className: 'Product',
  where: { objectId: { $in: ids } },
  keys: ['objectId'],
  watch: FIELDS,
});

/** The address of the socket at this host. */
export function address(path, base) {
  const url = new URL(path, base);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  return url.href;
}

const idle = () =>
  new Promise((resolve) => {
    if (globalThis.requestIdleCallback) requestIdleCallback(resolve, { timeout: 5000 });
    else setTimeout(resolve, 1000);
  });

class Live extends (globalThis.HTMLElement ?? Object) {
  #connection = null;
  #renewal = new Renewal(() => this.#renew());
  #timer = null;

  connectedCallback() {
    if (this.#connection) return;
    const ids = items(document).map(({ id }) => id);
    if (ids.length) this.#begin(ids);
  }

  async #begin(ids) {
    await idle();
    const { LiveConnection } = await import('../shared/live/connection.js');
    const { path, application, key } = this.dataset;
    const connection = new LiveConnection(
      () => new WebSocket(address(path, location.href)),
      () => ({ applicationId: application, ...(key ? { javascriptKey: key } : {}) }),
    );
    this.#connection = connection;
    const pause = () => connection.pause();
    const resume = () => !document.hidden && connection.resume();
    if (document.hidden) pause();
    connection.listen(query(ids), () => this.#renewal.ask(), new AbortController().signal);
    document.addEventListener('visibilitychange', () => (document.hidden ? pause() : resume()));
    // Browsers do not keep a page with an open connection for the button Back.
    addEventListener('pagehide', pause);
    addEventListener('pageshow', ({ persisted }) => persisted && resume());
    addEventListener('online', resume);
  }

  /** Resolves to whether the page shows the present state. */
  async #renew() {
    // The next page shows it.
    if (document.querySelector('form[data-sent]')) return true;
    try {
      const fresh = await page(location.pathname);
      const changes = notes(items(document), items(fresh), this.dataset);
      if (!renew(document, fresh)) location.reload();
      else this.#tell(changes);
      return true;
    } catch (error) {
      if (error.message !== '404') return false;
      this.#end();
      return true;
    }
  }

  /** The product is no longer sold. */
  #end() {
    for (const button of document.querySelectorAll('[data-fresh="add"]')) button.disabled = true;
    for (const state of document.querySelectorAll('[data-state]')) state.textContent = this.dataset.gone;
    this.#tell([this.dataset.gone]);
  }

  #tell(changes) {
    if (!changes.length) return;
    const note = this.querySelector('p');
    note.textContent = changes.join(' ');
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      note.textContent = '';
    }, READ);
  }
}

globalThis.customElements?.define('shop-live', Live);
