// A grid of a great many rows, of which only those in sight are elements. It behaves as `s-table` does: one stop for
// Tab, arrows and page keys go from cell to cell, Enter goes into one, Escape comes out.

import { SPAN, spanStart } from '../browser/cursor-pages.js';
import { fill, h } from '../dom.js';
import { heading } from './data-grid-head.js';
import { GridRows } from './data-grid-rows.js';
import { destination } from './table-keys.js';

const ROW = 40;
/** Rows above and below those in sight, so that scrolling shows no gap: as elements, and as far as they are asked for. */
const BEYOND = 5;
const AHEAD = 60;
/** Milliseconds after which scrolling is over. */
const RESTS = 300;

export class DataGrid extends HTMLElement {
  #options = {};
  #columns = [];
  #pages = null;
  #rows = null;
  #start = 0;
  #at = { row: 0, column: 0 };
  #frame = 0;
  #timer = 0;
  /** The row at the top when it was drawn last. */
  #top = 0;
  /** Whether somebody goes farther than a screen at once: then only rows in sight are drawn before that is over. */
  #isFar = false;
  #pressed = null;
  /** The cell that Tab reaches. */
  #stop = null;
  #body = h('div.rowsOfData', { role: 'rowgroup' });
  #sizes = new ResizeObserver(() => this.draw());

  /**
   * @param columns `{ title, width, kind, sort, cell(row), control }`; widths in rem. `cell` answers a text. A `control`
   *   stands in its place, `{ make(row), show(element, row) }`: `make` makes an element, which asks `row` whose it is
   *   now, and `show` makes it that of a row.
   * @param options `{ label, pages, sorted, onsort, enter(place), classOf(row) }`: `enter` is told `{ row, column, cell,
   *   index }` when somebody goes into a cell.
   */
  define(columns, options) {
    this.#columns = columns;
    this.#options = options;
    this.#pages = options.pages;
    this.#body.replaceChildren();
    this.#rows = new GridRows(this.#body, columns, { ...options, at: (index) => this.#pages.at(index) });
    const head = columns.map((column, index) => heading(column, index, options));
    const top = h('div.rowOfData.headings', { role: 'row', 'aria-rowindex': 1 }, head);
    const grid = h(
      'div.gridOfData',
      { role: 'grid', 'aria-label': options.label, 'aria-colcount': columns.length, 'aria-multiselectable': 'true' },
      h('div.headsOfData', { role: 'rowgroup' }, top),
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
    clearTimeout(this.#timer);
  }

  #scrolled = () => {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.draw();
    });
  };

  /** Makes elements stand for the rows in sight: at every scroll, and when rows changed. */
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
      this.scrollTop = offset;
    }
    this.firstElementChild.ariaRowCount = this.#pages.isComplete ? length + 1 : -1;
    const sight = Math.ceil(this.clientHeight / ROW) + 1;
    if (Math.abs(top - this.#top) > sight) this.#isFar = true;
    this.#top = top;
    const beyond = this.#isFar ? 0 : BEYOND;
    // As many rows everywhere, also at both ends: elements that come and go are laid out anew.
    const first = Math.max(start, Math.min(top - beyond, length - sight - 2 * beyond));
    const last = Math.min(length, first + sight + 2 * beyond) - 1;
    if (this.#rows.draw(first, last, { start, height: ROW, length, isWhole: !this.#isFar })) {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#rest(), RESTS);
    }
    this.#settle(first);
    this.#pages.want(first - AHEAD, last + AHEAD);
  }

  #rest() {
    this.#isFar = false;
    this.draw();
    this.#rows.sort();
  }

  /** One cell can be reached by Tab: the one that had the focus, or the first in sight. */
  #settle(first) {
    const { row, column } = this.#at;
    const cell = this.#rows.cell(row, column) ?? this.#rows.cell(first, column);
    if (!cell || cell === this.#stop) return;
    if (this.#stop) this.#stop.tabIndex = -1;
    cell.tabIndex = 0;
    this.#stop = cell;
  }

  #focus(row, column) {
    this.#at = { row, column };
    const top = (row - this.#start) * ROW;
    const room = this.clientHeight - 2 * ROW;
    if (top < this.scrollTop) this.scrollTop = top;
    else if (top > this.scrollTop + room) this.scrollTop = top - room;
    this.draw();
    const cell = this.#rows.cell(row, column);
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
