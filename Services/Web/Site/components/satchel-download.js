// <satchel-download>: a button that downloads a file, with progress, a button to stop, and another attempt.

import { define, h, SatchelElement } from './element.js';
import { addressOf } from './lists.js';
import { percent, read } from './progress.js';

class SatchelDownload extends SatchelElement {
  static observedAttributes = ['src', 'label'];
  #request = null;

  connectedCallback() {
    if (!this.#request) this.#offer();
  }

  disconnectedCallback() {
    this.#request?.abort();
  }

  attributeChangedCallback() {
    if (this.isConnected && !this.#request) this.#offer();
  }

  get #title() {
    return this.getAttribute('label') ?? this.getAttribute('name') ?? '';
  }

  /** Shows the button, with what went wrong before. */
  #offer(problem = null, wasUsed = false) {
    const text = problem ? this.text('retry') : this.text('download', { title: this.#title });
    const button = h('button', { type: 'button', class: 'primary', onclick: () => this.start() }, text);
    this.draw(
      h('div', { class: 'tools' }, button, problem ? h('p', { class: 'problem', role: 'alert' }, problem) : null),
    );
    if (wasUsed) button.focus();
  }

  async start() {
    const address = addressOf(this.getAttribute('src') ?? null);
    if (!address || this.#request) return;
    const request = new AbortController();
    this.#request = request;
    const bar = h('progress', { max: 100, 'aria-label': this.#title, part: 'progress' });
    const stop = h('button', { type: 'button', onclick: () => request.abort() }, this.text('stop'));
    this.draw(h('div', { class: 'tools' }, bar, stop));
    stop.focus();
    let problem = null;
    let told = 0;
    try {
      const response = await fetch(address, { signal: request.signal, credentials: 'omit' });
      if (!response.ok) throw new Error(`${response.status}`);
      const blob = await read(response, (received, total) => {
        const value = percent(received, total);
        if (value !== null) bar.value = value;
        this.emit('satchel-progress', { received, total });
        // A screen reader hears of every quarter.
        if (value !== null && value - told >= 25) {
          told = value;
          this.announce(this.text('progress', { percent: value, title: this.#title }));
        }
      });
      if (this.emit('satchel-download', { blob }, true)) this.#save(blob);
      this.announce(this.text('downloaded', { title: this.#title }));
    } catch (error) {
      if (!request.signal.aborted) problem = this.failed(new Error(this.text('failed'), { cause: error }));
    }
    this.#request = null;
    if (this.isConnected) this.#offer(problem, true);
  }

  #save(blob) {
    const url = URL.createObjectURL(blob);
    h('a', { href: url, download: this.getAttribute('name') ?? '' }).click();
    setTimeout(() => URL.revokeObjectURL(url), 60000);
  }
}

define('satchel-download', SatchelDownload);
