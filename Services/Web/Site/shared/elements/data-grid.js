// A grid for very many rows, with elements for the visible ones only. It behaves like `s-table`: one tab stop; arrow
// and page keys move between cells, Enter enters a cell, Escape leaves it.

import { SPAN, spanStart } from '../browser/cursor-pages.js';
import { fill, h } from '../dom.js';
import { heading } from './data-grid-head.js';
import { GridRows } from './data-grid-rows.js';
import { destination } from './table-keys.js';

const ROW = 40;
/**
 * Rows above and below the visible ones, so that scrolling shows no gap: `BEYOND` have elements, `AHEAD` are loaded.
 */
const BEYOND = 5;
const AHEAD = 60;
/** Milliseconds without a scroll event after which scrolling has ended. */
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
  /** The first row at the last drawing. */
  #top = 0;
  /** Whether the user scrolls more than a screen at once: then only visible rows are drawn until scrolling ends. */
  #isFar = false;
  #pressed = null;
  /** The cell that Tab reaches. */
  #stop = null;
  #body = h('div.rowsOfData', { role: 'rowgroup' });
  #sizes = new ResizeObserver(() => this.draw());

  /**
   * @param columns `{ title, width, kind, sort, cell(row), control }`; widths in rem. `cell` returns a text. A
   *   `control`, `{ make(row), show(element, row) }`, replaces it: `make` creates an element, which calls `row` for its
   *   current row, and `show` assigns it to a row.
   * @param options `{ label, pages, sorted, onsort, enter(place), classOf(row) }`: `enter` is called with `{ row,
   *   column, cell, index }` when the user enters a cell.
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

  /** Assigns elements to the visible rows, at every scroll and when rows changed. */
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
    // The number of elements is the same everywhere, also at both ends, because added and removed elements need a
    // layout.
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

  /** Makes one cell reachable by Tab: the cell that had the focus, or the first visible one. */
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

  /** The first press focuses a cell, the second enters it. */
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
