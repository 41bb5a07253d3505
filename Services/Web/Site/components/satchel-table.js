// <satchel-table>: rows with sections and an index, pages, pull to refresh, selection, editing and actions. The rows
// belong to the page, or come from `load`.

import { define, freshId } from './element.js';
import { actionsOf, moved, words } from './lists.js';
import { Pages } from './pages.js';
import { TableView } from './table-view.js';

export class SatchelTable extends TableView {
  #rows = [];
  #selected = new Set();
  #group = freshId();
  /** Whether someone waits for rows. */
  #isAsked = false;

  constructor() {
    super();
    this.pages = new Pages(
      (request) => this.load(request),
      (rows, isAgain) => this.#loaded(rows, isAgain),
    );
  }

  /** Takes `{ skip, signal }` and promises `{ rows, isLast }`; nothing for the rows of the page. */
  load = null;

  connectedCallback() {
    this.build();
    if (this.load && this.pages.count === 0) this.pages.again();
    else this.show();
  }

  disconnectedCallback() {
    this.pages.stop();
    this.leave();
  }

  attributeChangedCallback() {
    this.forget();
    this.later(() => this.show());
  }

  get rows() {
    return this.#rows;
  }

  set rows(rows) {
    this.#rows = [...rows];
    this.forget();
    this.later(() => this.show());
  }

  get group() {
    return this.#group;
  }

  get operations() {
    return words(this.getAttribute('edit'));
  }

  get editing() {
    return this.hasAttribute('editing');
  }

  set editing(isOn) {
    this.toggleAttribute('editing', isOn);
  }

  refresh() {
    this.#isAsked = true;
    this.emit('satchel-refresh', {});
    return this.load ? this.pages.again() : null;
  }

  loadMore() {
    this.#isAsked = true;
    return this.load ? this.pages.more() : null;
  }

  #loaded(rows, isAgain) {
    if (rows) {
      const known = new Set(isAgain ? [] : this.#rows.map(keyOf));
      const added = rows.filter((row) => !known.has(keyOf(row)));
      this.#rows = isAgain ? added : [...this.#rows, ...added];
      if (isAgain) this.forget();
      this.emit('satchel-load', { rows: added });
      if (this.#isAsked) this.announce(this.text('shown', { n: this.#rows.length }));
      this.#isAsked = false;
    }
    if (this.pages.state === 'loading' && this.#isAsked) this.announce(this.text('loading'));
    if (this.pages.state === 'failed') this.problem = this.failed(this.pages.error);
    this.show();
  }

  // Selection

  get selected() {
    return this.#rows.filter((row) => this.isSelected(row));
  }

  isSelected(row) {
    return this.#selected.has(keyOf(row));
  }

  select(row, isOn = true) {
    if (isOn && this.getAttribute('selection') === 'single') this.#selected.clear();
    if (isOn) this.#selected.add(keyOf(row));
    else this.#selected.delete(keyOf(row));
    const rows = this.selected;
    this.emit('satchel-select', { rows });
    this.announce(this.text('chosen', { n: rows.length }));
  }

  // Changes. Each is shown at once, and taken back when the server refuses it.

  /** The actions of a row: `{ name, label }`. */
  offers() {
    return actionsOf(this.getAttribute('actions'));
  }

  /** @param name of one of the attribute `actions`; `delete` deletes */
  act(name, row) {
    if (name === 'delete') return this.remove(row);
    this.emit('satchel-action', { name, row });
    return null;
  }

  remove(row) {
    const place = this.#rows.indexOf(row);
    if (place < 0 || !this.emit('satchel-delete', { row }, true)) return null;
    const rows = this.#rows.filter((other) => other !== row);
    this.#selected.delete(keyOf(row));
    return this.#change(
      rows,
      () => this.deleted(row),
      'deleted',
      row,
      () => this.focusRow(rows[place] ?? rows.at(-1)),
    );
  }

  insert(row, place = 0) {
    if (!this.emit('satchel-insert', { row, place }, true)) return null;
    const rows = [...this.#rows.slice(0, place), row, ...this.#rows.slice(place)];
    return this.#change(rows, () => this.inserted(row, place), 'added', row);
  }

  move(row, to) {
    const from = this.#rows.indexOf(row);
    if (from < 0 || from === to || !this.emit('satchel-reorder', { row, from, to }, true)) return null;
    return this.#change(moved(this.#rows, from, to), () => this.reordered(row, to), 'moved', row);
  }

  /** What a table with a server does after a change. */
  deleted() {}
  inserted() {}
  reordered() {}

  async #change(rows, save, news, row, focus = () => {}) {
    const before = this.#rows;
    this.#rows = rows;
    this.show();
    focus();
    try {
      await save();
      const values = { title: this.titleOf(row), place: this.#rows.indexOf(row) + 1, n: this.#rows.length };
      this.announce(this.text(news, values));
    } catch (error) {
      // What was loaded, added and deleted meanwhile stays so.
      const now = new Map(this.#rows.map((one) => [keyOf(one), one]));
      const [known, own] = [before, rows].map((list) => new Set(list.map(keyOf)));
      const kept = before.filter((one) => now.has(keyOf(one)) || !own.has(keyOf(one)));
      const later = this.#rows.filter((one) => !known.has(keyOf(one)) && !own.has(keyOf(one)));
      this.#rows = [...kept.map((one) => now.get(keyOf(one)) ?? one), ...later];
      this.show();
      this.warn(this.failed(error));
    }
  }
}

const keyOf = (row) => row.objectId ?? row;

define('satchel-table', SatchelTable);
