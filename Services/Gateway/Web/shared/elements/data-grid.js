// A grid of a great many rows, of which only those in sight are elements. It behaves as `s-table` does: one stop for
// Tab, arrows and page keys go from cell to cell, Enter goes into one, Escape comes out.

import { SPAN, spanStart } from '../browser/cursor-pages.js';
import { fill, h } from '../dom.js';
import { heading } from './data-grid-head.js';
import { destination } from './table-keys.js';

const ROW = 40;
/** Rows above and below those in sight, so that scrolling shows no gap: as elements, and as far as they are asked for. */
const BEYOND = 8;
const AHEAD = 60;
/** A value that is being typed: its row is drawn anew when that is over, not when an earlier answer comes. */
const FIELD = '.cellOfData > :is(input:not([type="checkbox"]), select)';

export class DataGrid extends HTMLElement {
  #options = {};
  #columns = [];
  #pages = null;
  #rows = new Map();
  /** What each row of elements was made of. */
  #made = new WeakMap();
  #start = 0;
  #at = { row: 0, column: 0 };
  #frame = 0;
  #pressed = null;
  #body = h('div.rowsOfData', { role: 'rowgroup' });
  #sizes = new ResizeObserver(() => this.draw());

  /**
   * @param columns `{ title, width, kind, sort, cell(row) }`; widths in rem.
   * @param options `{ label, pages, sorted, onsort, enter(place), classOf(row) }`: `enter` is told `{ row, column, cell,
   *   index }` when somebody goes into a cell.
   */
  define(columns, options) {
    this.#columns = columns;
    this.#options = options;
    this.#pages = options.pages;
    const head = columns.map((column, index) => heading(column, index, options));
    const top = h('div.rowOfData.headings', { role: 'row', 'aria-rowindex': 1 }, head);
    const grid = h(
      'div.gridOfData',
      { role: 'grid', 'aria-label': options.label, 'aria-colcount': columns.length, 'aria-multiselectable': 'true' },
      h('div', { role: 'rowgroup' }, top),
      this.#body,
    );
    grid.style.setProperty('--columns', columns.map((column) => `${column.width}rem`).join(' '));
    fill(this, grid);
    return this;
  }

  connectedCallback() {
    this.addEventListener('scroll', this.#scrolled, { passive: true });
    this.addEventListener('keydown', this.#key);
    this.addEventListener('focusin', this.#focused);
    this.addEventListener('pointerdown', this.#press);
    this.addEventListener('click', this.#click);
    this.#sizes.observe(this);
  }

  disconnectedCallback() {
    this.#sizes.disconnect();
    cancelAnimationFrame(this.#frame);
  }

  #scrolled = () => {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.draw();
    });
  };

  /** Makes elements of the rows in sight and of those that changed, and drops the others: at every scroll. */
  draw() {
    if (!this.#pages || !this.isConnected) return;
    const length = this.#pages.length;
    const top = this.#start + Math.floor(this.scrollTop / ROW);
    const start = spanStart(this.#start, top, length);
    const height = `${Math.min(length - start, SPAN) * ROW}px`;
    if (this.#body.style.height !== height) this.#body.style.height = height;
    if (start !== this.#start) {
      const offset = this.scrollTop - (start - this.#start) * ROW;
      this.#start = start;
      for (const [index, row] of this.#rows) this.#place(row, index);
      this.scrollTop = offset;
    }
    this.firstElementChild.setAttribute('aria-rowcount', this.#pages.isComplete ? length + 1 : -1);
    const first = Math.max(this.#start, top - BEYOND);
    const last = Math.min(length - 1, top + Math.ceil(this.clientHeight / ROW) + BEYOND);
    for (const [index, row] of this.#rows) {
      if ((index < first || index > last) && !row.contains(document.activeElement)) {
        row.remove();
        this.#rows.delete(index);
      }
    }
    for (let index = first; index <= last; index += 1) {
      const row = this.#rows.get(index);
      if (!row || (this.#made.get(row) !== this.#pages.at(index) && !row.querySelector(FIELD))) this.#make(index);
    }
    this.#settle(first);
    this.#pages.want(first - AHEAD, last + AHEAD);
  }

  #make(index) {
    const object = this.#pages.at(index);
    const cells = this.#columns.map((column, at) =>
      h(
        `div.cellOfData.${column.kind}`,
        { role: 'gridcell', 'aria-colindex': at + 1, tabindex: -1 },
        object ? column.cell(object) : object === null ? (at ? '' : '–') : '…',
      ),
    );
    const state = object ? this.#options.classOf(object) : '';
    const row = h(
      'div.rowOfData',
      { role: 'row', 'aria-rowindex': index + 2, 'aria-busy': String(object === undefined), 'data-state': state },
      cells,
    );
    row.dataset.index = index;
    this.#made.set(row, object);
    for (const inside of row.querySelectorAll('a, button, input')) inside.tabIndex = -1;
    this.#place(row, index);
    const old = this.#rows.get(index);
    this.#rows.set(index, row);
    const next = [...this.#rows.entries()].filter(([other]) => other > index).sort(([a], [b]) => a - b)[0]?.[1];
    if (!old) return this.#body.insertBefore(row, next ?? null);
    const column = [...old.children].findIndex((cell) => cell.contains(document.activeElement));
    old.replaceWith(row);
    if (column >= 0) this.#focus(index, column);
  }

  #place(row, index) {
    row.style.transform = `translateY(${(index - this.#start) * ROW}px)`;
  }

  /** One cell can be reached by Tab: the one that had the focus, or the first in sight. */
  #settle(first) {
    const row = this.#rows.get(this.#at.row) ?? this.#rows.get(first);
    const cell = row?.children[this.#at.column];
    if (!cell || cell.tabIndex === 0) return;
    for (const other of this.#body.querySelectorAll('[role=gridcell][tabindex="0"]')) other.tabIndex = -1;
    cell.tabIndex = 0;
  }

  #focus(row, column) {
    this.#at = { row, column };
    const top = (row - this.#start) * ROW;
    const room = this.clientHeight - 2 * ROW;
    if (top < this.scrollTop) this.scrollTop = top;
    else if (top > this.scrollTop + room) this.scrollTop = top - room;
    this.draw();
    const cell = this.#rows.get(row)?.children[column];
    this.#settle(row);
    cell?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    cell?.focus({ preventScroll: true });
  }

  #enter(cell, row) {
    const inside = cell.querySelector('a, button, input');
    if (inside) inside.click();
    else this.#options.enter({ cell, row: this.#pages.at(row), column: this.#columns[this.#at.column], index: row });
  }

  #placeOf(target) {
    const cell = target.closest?.('[role=gridcell]');
    return cell && { cell, row: Number(cell.parentElement.dataset.index), column: Number(cell.ariaColIndex) - 1 };
  }

  #focused = (event) => {
    const place = this.#placeOf(event.target);
    if (place) this.#at = { row: place.row, column: place.column };
    if (place) this.#settle(place.row);
  };

  /** The first press chooses a cell, the second goes into it. */
  #press = (event) => {
    this.#pressed = event.target === document.activeElement ? event.target : null;
  };

  #click = (event) => {
    const place = this.#placeOf(event.target);
    if (place && place.cell === this.#pressed) this.#enter(place.cell, place.row);
  };

  #key = (event) => {
    const place = this.#placeOf(event.target);
    if (!place || event.target !== place.cell) return;
    const last = { row: this.#pages.length - 1, column: this.#columns.length - 1 };
    const target = destination(event, place, last, getComputedStyle(this).direction === 'rtl');
    if (['Enter', 'F2', ' '].includes(event.key)) {
      event.preventDefault();
      this.#enter(place.cell, place.row);
    } else if (target && target[0] >= 0 && target[0] <= last.row && target[1] >= 0 && target[1] <= last.column) {
      event.preventDefault();
      this.#focus(...target);
    }
  };
}

customElements.define('s-data-grid', DataGrid);
