// <shop-pages>: appends the next page of a list, at its end or by the link. The way back leads to the same place.

import { EndWatch, loadsItself } from '../../components/end.js';
import { page } from '../page.js';
import { keep, kept, later } from './place.js';

const frame = () => new Promise(requestAnimationFrame);

/** Appends a page's products; a section that is there already gets those of the same letter. */
function append(list, from) {
  let first = null;
  for (const part of [...from.children]) {
    const place = part.dataset.letter
      ? list.querySelector(`[data-letter="${CSS.escape(part.dataset.letter)}"] > ul`)
      : list.querySelector(':scope > ul');
    const cards = part.matches('ul') ? part : part.querySelector('ul');
    first ??= cards?.querySelector('a');
    if (place && cards) place.append(...cards.children);
    else list.append(part);
  }
  return first;
}

class Pages extends HTMLElement {
  #list = null;
  #link = null;
  #status = null;
  #watch = null;
  /** Pages that were appended. */
  #pages = 0;
  #isLoading = false;
  /** Whether the page is at the place that was kept. */
  #isThere = false;

  connectedCallback() {
    this.#list = document.querySelector('[data-list]');
    this.#link = this.querySelector('a[rel="next"]');
    if (!this.#list || !this.#link || this.#status) return;
    this.#status = document.createElement('p');
    this.#status.setAttribute('role', 'status');
    this.#status.className = 'soft';
    this.append(this.#status);
    this.#link.textContent = this.dataset.more;
    this.#link.addEventListener('click', (event) => {
      if (event.metaKey || event.ctrlKey || event.shiftKey) return;
      event.preventDefault();
      this.#load().then((first) => first?.focus());
    });
    // Before the shopper sees the end of the list, so that nothing visible moves.
    this.#watch = new EndWatch(() => loadsItself(this.#pages) && this.#load(), '1000px');
    this.#begin();
  }

  disconnectedCallback() {
    this.#watch?.stop();
  }

  /** Loads the pages that were there, and goes to the place in them. */
  async #begin() {
    const { pages, top } = kept(history.state);
    while (this.#pages < pages && this.#link) {
      if (!(await this.#load())) break;
    }
    if (pages > 0) {
      // In a separate frame: if an element moves in the frame of a scroll, browsers count a layout shift.
      await frame();
      await frame();
      scrollTo(0, top);
    }
    this.#isThere = true;
    this.#keep();
    addEventListener(
      'scroll',
      later(() => this.#keep()),
      { passive: true },
    );
    // A product may be opened before the scrolling has come to rest.
    this.#list.addEventListener('click', () => this.#keep());
    this.#watch.watch(this.#link);
  }

  #keep() {
    if (this.#pages === 0 || !this.#isThere) return;
    history.scrollRestoration = 'manual';
    keep(history, this.#pages, scrollY);
  }

  /** Appends the next page. Returns its first product; nothing after a failure. */
  async #load() {
    if (this.#isLoading || !this.#link) return null;
    this.#isLoading = true;
    this.setAttribute('aria-busy', 'true');
    try {
      const loaded = await page(this.#link.getAttribute('href'));
      const list = loaded.querySelector('[data-list]');
      if (!list) throw new Error('no list');
      const first = append(this.#list, document.importNode(list, true));
      const next = loaded.querySelector('shop-pages a[rel="next"]');
      this.#pages += 1;
      this.#status.textContent = this.dataset.shown.replace('{n}', this.#list.querySelectorAll('.card').length);
      if (next) this.#link.setAttribute('href', next.getAttribute('href'));
      else {
        this.#link.remove();
        this.#link = null;
      }
      this.#keep();
      this.#watch.watch(loadsItself(this.#pages) ? this.#link : null);
      return first;
    } catch {
      this.#status.textContent = this.dataset.failed;
      return null;
    } finally {
      this.#isLoading = false;
      this.removeAttribute('aria-busy');
    }
  }
}

customElements.define('shop-pages', Pages);
