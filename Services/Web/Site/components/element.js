// The base of all elements: a shadow root with the common style, texts, events, and a region for screen readers.

import { Client } from './parse.js';
import { sheet } from './style.js';
import { textOf } from './texts.js';

/**
 * h('button', { type: 'button', class: 'quiet', onclick: close }, 'Close')
 * Functions become listeners; false, null and undefined are skipped, as attributes and as children.
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (typeof value === 'function') element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

let last = 0;

/** An unused id within a shadow root. */
export function freshId() {
  last += 1;
  return `s${last}`;
}

/** A page may load an element twice, from two addresses: the first one counts. */
export function define(name, element) {
  if (globalThis.customElements && !customElements.get(name)) customElements.define(name, element);
}

export class SatchelElement extends (globalThis.HTMLElement ?? Object) {
  /** Whether screen readers never hear of what happens in it. */
  static isQuiet = false;
  #status = null;

  constructor() {
    super();
    this.attachShadow({ mode: 'open' }).adoptedStyleSheets = [sheet()];
    if (new.target.isQuiet) return;
    this.#status = h('p', { role: 'status', class: 'unseen' });
    this.shadowRoot.append(this.#status);
  }

  /** Shows nodes in place of those shown so far. */
  draw(...nodes) {
    for (const node of [...this.shadowRoot.childNodes]) if (node !== this.#status) node.remove();
    this.shadowRoot.prepend(...nodes);
  }

  get language() {
    // A row's elements ask before they are in the page.
    const host = this.getRootNode().host ?? this;
    return host.closest('[lang]')?.lang || document.documentElement.lang || navigator.language;
  }

  text(key, values) {
    return textOf(this.language, key, values);
  }

  /** Tells screen readers what happened. */
  announce(text) {
    this.#status.textContent = text;
  }

  /** @returns false when the page has prevented the default. */
  emit(name, detail, cancelable = false) {
    return this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true, cancelable }));
  }

  /** The server of this element's attributes. */
  get client() {
    return new Client({
      base: this.getAttribute('base') ?? '/parse',
      applicationId: this.getAttribute('application-id') ?? 'satchel',
      key: this.getAttribute('key') ?? '',
    });
  }

  /** The text for a person about a failure. The page gets the error as an event. */
  failed(error) {
    this.emit('satchel-error', { error });
    return error.code === 100 ? this.text('offline') : error.message || this.text('failed');
  }
}
