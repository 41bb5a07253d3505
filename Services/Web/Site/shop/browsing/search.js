// <shop-search>: suggestions below the search field, as a combobox with a list (ARIA APG).

import { Suggestions, selected } from './suggesting.js';

const LIST = 'suggestions';

async function ask(text, signal) {
  const response = await fetch(`/search/suggestions?q=${encodeURIComponent(text)}`, { signal });
  if (!response.ok) throw new Error(String(response.status));
  return (await response.json()).suggestions;
}

class SearchField extends HTMLElement {
  #input = null;
  #list = null;
  #found = [];
  #index = -1;

  connectedCallback() {
    if (this.#list) return;
    this.#input = this.querySelector('input');
    this.#list = document.createElement('ul');
    this.#list.id = LIST;
    this.#list.className = 'suggestions';
    this.#list.hidden = true;
    this.#list.setAttribute('role', 'listbox');
    this.#list.setAttribute('aria-label', this.dataset.label);
    this.append(this.#list);
    // A field of the type `search` must not be a combobox.
    this.#input.type = 'text';
    this.#input.autocomplete = 'off';
    for (const [name, value] of [
      ['role', 'combobox'],
      ['aria-autocomplete', 'list'],
      ['aria-controls', LIST],
      ['aria-expanded', 'false'],
    ]) {
      this.#input.setAttribute(name, value);
    }
    const suggestions = new Suggestions(ask, (found) => this.#show(found));
    this.#input.addEventListener('input', () => suggestions.typed(this.#input.value));
    this.#input.addEventListener('keydown', (event) => this.#key(event));
    this.#input.addEventListener('blur', () => {
      suggestions.stop();
      this.#show([]);
    });
    // The field keeps the focus, so that the list is there when the click arrives.
    this.#list.addEventListener('pointerdown', (event) => event.preventDefault());
    this.#list.addEventListener('click', (event) => {
      const option = event.target.closest('[role="option"]');
      if (option) location.assign(option.dataset.href);
    });
  }

  #show(found) {
    this.#found = document.activeElement === this.#input ? found : [];
    this.#index = -1;
    this.#list.replaceChildren(
      ...this.#found.map(({ title, href }, index) => {
        const option = document.createElement('li');
        option.id = `${LIST}-${index}`;
        option.setAttribute('role', 'option');
        option.setAttribute('aria-selected', 'false');
        option.dataset.href = href;
        option.textContent = title;
        return option;
      }),
    );
    this.#list.hidden = this.#found.length === 0;
    this.#input.setAttribute('aria-expanded', String(!this.#list.hidden));
    this.#input.removeAttribute('aria-activedescendant');
  }

  #key(event) {
    if (event.isComposing || this.#list.hidden) return;
    if (event.key === 'Escape') {
      event.preventDefault();
      return this.#show([]);
    }
    if (event.key === 'Enter' && this.#index >= 0) {
      event.preventDefault();
      return location.assign(this.#found[this.#index].href);
    }
    if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
    event.preventDefault();
    this.#index = selected(event.key, this.#index, this.#found.length);
    for (const [index, option] of [...this.#list.children].entries()) {
      option.setAttribute('aria-selected', String(index === this.#index));
    }
    if (this.#index < 0) this.#input.removeAttribute('aria-activedescendant');
    else this.#input.setAttribute('aria-activedescendant', `${LIST}-${this.#index}`);
  }
}

customElements.define('shop-search', SearchField);
