// What a table shows: tools, index, sections of rows, and the cell at the end that loads, fails, or says it is empty.

import { freshId, h, SatchelElement } from './element.js';
import { EndWatch, loadsItself } from './end.js';
import { pull } from './gestures.js';
import { sectionsOf, shown, valueAt } from './lists.js';
import { contentOf, rowOf } from './table-row.js';
import { cellOf, toolsOf } from './table-tools.js';

export class TableView extends SatchelElement {
  static observedAttributes = [
    ...['label', 'title-key', 'text-key', 'image-key', 'href', 'section-key', 'section-by', 'index', 'selection'],
    ...['edit', 'editing', 'actions', 'empty', 'scrolls', 'refresh', 'lang'],
  ];
  #box = null;
  #tools = h('div', { class: 'tools' });
  #index = h('nav', { class: 'index' });
  #gap = h('div', { class: 'pull', 'aria-hidden': 'true' });
  #list = h('div');
  #end = h('div');
  #problem = h('p', { role: 'alert', class: 'problem' });
  /** The elements of rows. */
  #items = new Map();
  #watch = null;
  #isWaiting = false;
  #isPulled = false;
  /** The text about a failed page. */
  problem = '';

  build() {
    if (this.#box) return;
    this.#box = h('div', { class: 'box', part: 'box' }, this.#gap, this.#list, this.#end);
    this.draw(this.#tools, this.#index, this.#problem, this.#box);
    this.#watch = new EndWatch(() => loadsItself(this.pages.count, this.#automatic) && this.loadMore(), '200px');
  }

  /** Only a list that is pulled follows the finger by script. */
  #pulls() {
    if (this.#isPulled || !this.hasAttribute('refresh')) return;
    this.#isPulled = true;
    pull(this.#box, {
      atTop: () => this.hasAttribute('refresh') && this.#isAtTop(),
      show: (height, isReady) => {
        this.#gap.style.height = `${height}px`;
        this.#gap.textContent = height ? this.text(isReady ? 'release' : 'pull') : '';
      },
      refresh: () => this.refresh(),
    });
  }

  get #automatic() {
    const most = Number.parseInt(this.getAttribute('auto-pages') ?? '', 10);
    return most >= 0 ? most : 4;
  }

  #isAtTop() {
    return this.#box.scrollTop <= 0 && (this.hasAttribute('scrolls') || document.scrollingElement.scrollTop <= 0);
  }

  leave() {
    this.#watch?.stop();
  }

  /** Rows get new elements. */
  forget() {
    this.#items.clear();
  }

  /** Runs once after several changes. */
  later(action) {
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    queueMicrotask(() => {
      this.#isWaiting = false;
      if (this.isConnected && this.#box) action();
    });
  }

  titleOf(row) {
    return shown(valueAt(row, this.getAttribute('title-key') ?? 'name'), this.language);
  }

  contentOf(row) {
    return this.renderRow ? [this.renderRow(row)].flat() : contentOf(this, row);
  }

  get items() {
    return this.rows.map((row) => this.#items.get(row));
  }

  #item(row) {
    if (!this.#items.has(row)) this.#items.set(row, rowOf(this, row, this.group));
    return this.#items.get(row);
  }

  focusRow(row) {
    const controls = row ? this.#items.get(row) : this.#tools;
    (controls?.querySelector('[data-control]') ?? controls?.querySelector('button, a, input'))?.focus();
  }

  warn(text) {
    this.#problem.textContent = text;
  }

  /** Shows the rows. Those that were there keep their elements, and the focus. */
  show() {
    if (!this.#box) return;
    this.warn('');
    const focused = this.shadowRoot.activeElement;
    const place = placeOf(focused);
    const label = this.getAttribute('label') ?? this.text('list');
    const isOwn = this.hasAttribute('scrolls');
    for (const [name, value] of Object.entries({ role: 'group', tabindex: '0', 'aria-label': label })) {
      if (isOwn) this.#box.setAttribute(name, value);
      else this.#box.removeAttribute(name);
    }
    const by = this.getAttribute('section-by') ?? 'letter';
    const sections = sectionsOf(this.rows, this.getAttribute('section-key'), by, this.language);
    const letters = [];
    this.#list.replaceChildren(
      ...sections.map(({ name, rows }) => {
        const list = h('ul', { role: 'list' }, ...rows.map((row) => this.#item(row)));
        if (name === null) {
          list.setAttribute('aria-label', label);
          return list;
        }
        const id = freshId();
        const level = this.getAttribute('heading-level') ?? 3;
        const heading = h(
          'div',
          { role: 'heading', 'aria-level': level, class: 'section', id, tabindex: -1, part: 'section' },
          name,
        );
        letters.push({ name, heading });
        return h('div', { role: 'group', 'aria-labelledby': id }, heading, list);
      }),
    );
    const isLoading = this.pages.state === 'loading';
    this.#list.setAttribute('aria-busy', String(isLoading));
    this.#showIndex(letters);
    this.#showTools();
    this.#pulls();
    this.#end.replaceChildren(...cellOf(this, this.problem));
    (focused?.isConnected ? focused : controlAt(this.#list, place))?.focus({ preventScroll: true });
    const button = this.#end.querySelector('[data-more]');
    this.#watch.watch(button && loadsItself(this.pages.count, this.#automatic) ? button : null);
  }

  #showIndex(letters) {
    this.#index.hidden = !this.hasAttribute('index') || letters.length === 0;
    this.#index.setAttribute('aria-label', `${this.getAttribute('label') ?? ''} ${this.text('index')}`.trim());
    const go = (heading) => {
      // The heading itself sticks to the top.
      const section = heading.parentElement;
      if (!this.hasAttribute('scrolls')) section.scrollIntoView();
      else this.#box.scrollTop += section.getBoundingClientRect().top - this.#box.getBoundingClientRect().top;
      heading.focus();
    };
    this.#index.replaceChildren(
      ...letters.map(({ name, heading }) => h('button', { type: 'button', onclick: () => go(heading) }, name)),
    );
  }

  #showTools() {
    // A text that is not sent yet, and the focus, stay.
    const shape = ['edit', 'editing', 'refresh', 'title-key'].map((name) => this.getAttribute(name));
    const state = JSON.stringify([...shape, this.language]);
    if (this.#tools.dataset.state === state) return;
    const hadFocus = this.#tools.contains(this.shadowRoot.activeElement);
    this.#tools.dataset.state = state;
    this.#tools.replaceChildren(...toolsOf(this));
    if (hadFocus) this.focusRow(null);
  }
}

const CONTROLS = 'a, button, input';

/** The row and the place in it of a focused control. */
function placeOf(control) {
  const item = control?.closest('[data-key]');
  return item && { key: item.dataset.key, index: [...item.querySelectorAll(CONTROLS)].indexOf(control) };
}

/** The control at that place, also when rows were loaded anew. */
function controlAt(list, place) {
  const item = place && [...list.querySelectorAll('[data-key]')].find(({ dataset }) => dataset.key === place.key);
  return item?.querySelectorAll(CONTROLS)[place.index];
}
