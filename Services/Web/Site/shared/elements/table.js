// A table for keyboard, mouse and screen reader: the grid of https://www.w3.org/WAI/ARIA/apg/patterns/grid/. One cell
// has the focus; arrow, Home, End and Page keys move it; Enter opens the row or enters the cell, Escape leaves it. On
// narrow screens each row is a card; roles still mark it as a table.

import { fill, h } from '../dom.js';
import { t } from '../i18n.js';
import { holdStill, opensApart } from './row-link.js';
import { heading } from './table-head.js';
import { destination } from './table-keys.js';

const INSIDE = 'a[href], button, input, select, textarea';

export class Table extends HTMLElement {
  #columns = [];
  #rows = [];
  #options = {};
  #body = h('tbody', { role: 'rowgroup' });
  #at = { row: 0, column: 0 };

  /**
   * @param columns `{ title, cell(row), lead, end, narrow, sort }`: `lead` is a card's title, `end` aligns numbers,
   *   `narrow: false` leaves the column out of cards, `sort` is the key for `onsort`.
   * @param options `{ label, id(row), open(row), empty, sorted, onsort }`.
   */
  define(columns, options) {
    this.#columns = columns;
    this.#options = options;
    this.#draw();
    return this;
  }

  connectedCallback() {
    for (const [type, work] of this.#work) this.addEventListener(type, work);
  }

  disconnectedCallback() {
    for (const [type, work] of this.#work) this.removeEventListener(type, work);
  }

  get rows() {
    return this.#rows;
  }

  set rows(rows) {
    this.#rows = rows;
    this.#drawRows();
  }

  /** Redraws one row in place, by its id. */
  renew(row) {
    const id = this.#options.id(row);
    const index = this.#rows.findIndex((other) => this.#options.id(other) === id);
    if (index < 0) return;
    this.#rows[index] = row;
    const old = this.#body.children[index];
    const column = [...old.children].findIndex((cell) => cell.contains(document.activeElement));
    old.replaceWith(this.#row(row, index));
    this.#settle();
    if (column >= 0) this.#focus(index, column);
  }

  #draw() {
    const head = h(
      'thead',
      { role: 'rowgroup' },
      h(
        'tr',
        { role: 'row' },
        this.#columns.map((column) => heading(column, this.#options)),
      ),
    );
    fill(this, h('table', { role: 'grid', 'aria-label': this.#options.label }, head, this.#body));
    this.#drawRows();
  }

  #drawRows() {
    if (!this.#rows.length) {
      const cell = h(
        'td.empty',
        { role: 'gridcell', colspan: this.#columns.length, tabindex: 0 },
        this.#options.empty ?? t('table.empty'),
      );
      fill(this.#body, h('tr', { role: 'row' }, cell));
      return;
    }
    fill(
      this.#body,
      this.#rows.map((row, index) => this.#row(row, index)),
    );
    this.#at = { row: Math.min(this.#at.row, this.#rows.length - 1), column: this.#at.column };
    this.#settle();
  }

  #row(row) {
    const cells = this.#columns.map((column) => {
      const classes = [column.end && 'end', column.narrow === false && 'wide', column.lead && 'lead']
        .filter(Boolean)
        .join(' ');
      return h(
        'td',
        { role: 'gridcell', class: classes, 'data-title': column.title || null, tabindex: -1 },
        column.cell(row),
      );
    });
    const tr = h('tr', { role: 'row', class: this.#options.open ? 'opens' : '' }, cells);
    for (const inside of tr.querySelectorAll(INSIDE)) inside.tabIndex = -1;
    return tr;
  }

  /** Makes one cell reachable by Tab; arrow keys lead to the others. */
  #settle() {
    for (const cell of this.#body.querySelectorAll('td[tabindex="0"]')) cell.tabIndex = -1;
    const cell = this.#cell(this.#at.row, this.#at.column);
    if (cell) cell.tabIndex = 0;
  }

  #cell(row, column) {
    return this.#body.children[row]?.children[column];
  }

  #focus(row, column) {
    const cell = this.#cell(row, column);
    if (!cell) return;
    this.#at = { row, column };
    this.#settle();
    cell.focus();
  }

  #place(element) {
    const cell = element.closest('td');
    const row = cell?.parentElement;
    if (!row || row.parentElement !== this.#body) return null;
    return { cell, row: [...this.#body.children].indexOf(row), column: [...row.children].indexOf(cell) };
  }

  #focused = (event) => {
    const place = this.#place(event.target);
    if (!place) return;
    this.#at = { row: place.row, column: place.column };
    this.#settle();
  };

  #click = (event) => {
    const place = this.#place(event.target);
    if (!place || !this.#options.open || event.target.closest(INSIDE) || !this.#rows[place.row]) return;
    if (!opensApart(event, place.cell.parentElement) && !event.button) this.#options.open(this.#rows[place.row]);
  };

  #key = (event) => {
    const place = this.#place(event.target);
    if (!place) return;
    if (event.target !== place.cell) {
      if (event.key === 'Escape') {
        event.preventDefault();
        place.cell.focus();
      }
      return;
    }
    const last = { row: this.#body.children.length - 1, column: this.#columns.length - 1 };
    const target = destination(event, place, last, getComputedStyle(this).direction === 'rtl');
    if (event.key === 'Enter' && opensApart(event, place.cell.parentElement)) event.preventDefault();
    else if (event.key === 'Enter' || event.key === 'F2' || event.key === ' ') {
      const inside = place.cell.querySelector(INSIDE);
      event.preventDefault();
      if (inside) inside.matches('a, button, [type=checkbox]') ? inside.click() : inside.focus();
      else if (this.#options.open && this.#rows[place.row]) this.#options.open(this.#rows[place.row]);
    } else if (target) {
      event.preventDefault();
      this.#focus(...target);
    }
  };

  #work = Object.entries({
    keydown: this.#key,
    focusin: this.#focused,
    click: this.#click,
    auxclick: this.#click,
    mousedown: holdStill,
  });
}

customElements.define('s-table', Table);

export function table(columns, options) {
  return document.createElement('s-table').define(columns, options);
}
