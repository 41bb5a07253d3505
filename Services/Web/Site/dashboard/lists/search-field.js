// The search field above a list.

import { freshId, h } from '../../shared/dom.js';
import { icon } from '../../shared/icons.js';

/** Milliseconds without a key press after which the search begins. */
const PAUSE = 350;

/**
 * Searches after a short pause in typing. A field that replaces the one in which the operator types continues with its
 * text, focus and cursor: the operator may type while a response is on its way.
 */
class SearchField extends HTMLElement {
  #input;
  #value;
  #onsearch;
  #timer = 0;
  #predecessor = null;

  define(label, value, onsearch) {
    const id = freshId('search');
    this.label = label;
    this.#value = value;
    this.#onsearch = onsearch;
    this.#input = h('input', {
      id,
      type: 'search',
      value,
      placeholder: label,
      autocomplete: 'off',
      spellcheck: 'false',
    });
    this.#input.addEventListener('input', () => this.#wait());
    this.#input.addEventListener('keydown', (event) => event.key === 'Enter' && this.#search());
    this.className = 'search';
    this.append(icon('search'), h('label.unseen', { for: id }, label), this.#input);
    // A redraw replaces the field by one with the same label.
    const typed = document.activeElement?.closest('s-search');
    if (typed?.label === label) this.#predecessor = typed;
    return this;
  }

  connectedCallback() {
    const before = this.#predecessor?.#input;
    this.#predecessor = null;
    if (!before) return;
    this.#input.value = before.value;
    this.#input.focus();
    this.#input.setSelectionRange(before.selectionStart, before.selectionEnd);
    if (before.value !== this.#value) this.#wait();
  }

  disconnectedCallback() {
    clearTimeout(this.#timer);
  }

  #wait() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#search(), PAUSE);
  }

  #search() {
    clearTimeout(this.#timer);
    if (this.#input.value === this.#value) return;
    this.#value = this.#input.value;
    this.#onsearch(this.#value);
  }
}

customElements.define('s-search', SearchField);

export function searchField(label, value, onsearch) {
  return document.createElement('s-search').define(label, value ?? '', onsearch);
}
