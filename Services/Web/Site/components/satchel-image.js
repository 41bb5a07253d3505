// <satchel-image>: a picture from any server, with a placeholder, a store in this browser and the progress of loading.

import { define, freshId, h, SatchelElement } from './element.js';
import { EndWatch } from './end.js';
import { addressOf } from './lists.js';
import { kept, percent, read } from './progress.js';

class SatchelImage extends SatchelElement {
  static observedAttributes = ['src', 'alt'];
  static isQuiet = true;
  #watch = null;
  #request = null;
  /** The address of the bytes in memory. */
  #blob = null;

  connectedCallback() {
    this.reload();
  }

  disconnectedCallback() {
    this.#end();
  }

  attributeChangedCallback() {
    if (this.isConnected) this.reload();
  }

  #end() {
    this.#watch?.stop();
    this.#request?.abort();
    if (this.#blob) URL.revokeObjectURL(this.#blob);
    this.#blob = null;
  }

  /** Loads the picture, also after a failure. */
  reload() {
    this.#end();
    const address = addressOf(this.getAttribute('src') ?? null);
    const alt = this.getAttribute('alt') ?? '';
    const mark = h('span', { class: 'mark', part: 'placeholder' }, h('slot', { name: 'placeholder' }));
    const frame = h('span', { class: 'picture', part: 'picture' }, mark);
    this.draw(frame);
    if (!address) return;
    const image = h('img', { alt, decoding: 'async', part: 'image' });
    const bar = this.hasAttribute('progress')
      ? h('progress', { id: freshId(), max: 100, 'aria-label': this.text('loading') })
      : null;
    image.addEventListener('load', () => {
      mark.remove();
      bar?.remove();
      image.classList.add('there');
      this.emit('satchel-loaded', { src: address });
    });
    image.addEventListener('error', () => {
      image.remove();
      bar?.remove();
      // What the picture shows is read instead.
      mark.textContent = alt;
      this.failed(new Error(this.text('failed')));
    });
    frame.append(image, ...(bar ? [bar] : []));
    if (!bar && !this.hasAttribute('cache')) {
      image.loading = 'lazy';
      image.src = address;
      return;
    }
    this.#watch = new EndWatch(() => {
      this.#watch.stop();
      this.#load(address, image, bar);
    }, '200px');
    this.#watch.watch(frame);
  }

  async #load(address, image, bar) {
    this.#request = new AbortController();
    const { signal } = this.#request;
    const most = this.hasAttribute('cache') ? Number(this.getAttribute('cache')) || 100 : 0;
    try {
      const response = await kept(address, most, signal);
      const blob = await read(response, (received, length) => {
        const value = percent(received, length);
        if (bar && value !== null) bar.value = value;
        this.emit('satchel-progress', { received, total: length });
      });
      if (signal.aborted) return;
      this.#blob = URL.createObjectURL(blob);
      image.src = this.#blob;
    } catch {
      // Its server does not let scripts read it, but the browser can show it.
      if (!signal.aborted) image.src = address;
    }
  }
}

define('satchel-image', SatchelImage);
