// The rows of a data grid: one element per visible row, reused for other rows while scrolling. Elements are not
// recreated, and not moved in the document before scrolling ends: a browser rebuilds its data of a moved element, which
// leaves tens of megabytes of garbage after some hundred screens.

import { Garbage } from '../browser/garbage.js';
import { h } from '../dom.js';

/** A field with a value being typed: its row is redrawn after editing, not when an earlier response arrives. */
const FIELD = ':scope > .cellOfData > :is(input:not([type="checkbox"]), select)';

export class GridRows {
  #columns;
  #classOf;
  #body;
  #at;
  #rows = new Map();
  #firstText;
  #garbage = new Garbage();
  /** Replaced texts since the last report to `garbage.js`. */
  #changed = 0;

  /**
   * @param columns as in `DataGrid.define`.
   * @param at returns the row of an index: undefined while it is not loaded, null when it was deleted.
   */
  constructor(body, columns, { classOf, at }) {
    this.#body = body;
    this.#columns = columns;
    this.#classOf = classOf;
    this.#at = at;
    this.#firstText = columns.findIndex((column) => !column.control);
  }

  /** The cell at a place; undefined when its row has no element. */
  cell(row, column) {
    return this.#rows.get(row)?.element.children[column];
  }

  /**
   * Assigns elements to the rows from `first` to `last`. The row with the focus keeps its element.
   * @param start the first row of the scroll range; each row has the height `height`.
   * @param length number of rows.
   * @param isWhole whether surplus elements are removed.
   * @returns whether an element was assigned to another row.
   */
  draw(first, last, { start, height, length, isWhole }) {
    const free = this.#free(first, last);
    const known = this.#rows.size;
    let isMoved = false;
    for (let index = first; index <= last; index += 1) {
      let row = this.#rows.get(index);
      if (!row) {
        const [from] = free.splice(0, 1);
        row = this.#rows.get(from) ?? this.#make();
        this.#rows.delete(from);
        this.#rows.set(index, row);
        this.#number(row, index);
        isMoved = true;
      }
      this.#show(row, this.#at(index));
    }
    for (const index of free) {
      if (isWhole || index < start || index >= length) {
        this.#rows.get(index).element.remove();
        this.#rows.delete(index);
      }
    }
    for (const [index, row] of this.#rows) this.#place(row, (index - start) * height);
    this.#garbage.add(this.#changed);
    this.#changed = 0;
    return isMoved || this.#rows.size !== known;
  }

  /** Rows whose elements can be reused: outside this range and without the focus. */
  #free(first, last) {
    const focused = document.activeElement;
    const others = [...this.#rows].filter(([index]) => index < first || index > last);
    return others.filter(([, { element }]) => !element.contains(focused)).map(([index]) => index);
  }

  /** Sorts the elements in the order of rows, for screen readers. The one with the focus does not move. */
  sort() {
    const rows = [...this.#rows].sort(([one], [other]) => one - other).map(([, { element }]) => element);
    const focused = rows.findIndex((element) => element.contains(document.activeElement));
    const still = Math.max(0, focused);
    for (let at = still - 1; at >= 0; at -= 1) this.#putBefore(rows[at], rows[at + 1]);
    for (let at = still + 1; at < rows.length; at += 1) this.#putBefore(rows[at], rows[at - 1].nextSibling);
  }

  #putBefore(element, next) {
    if (element !== next && element.nextSibling !== next) this.#body.insertBefore(element, next);
  }

  #make() {
    const row = { element: null, object: undefined, isShown: false, top: NaN, texts: [] };
    const cells = this.#columns.map(({ kind, control, width }, at) => {
      const inside = control?.make(() => row.object) ?? null;
      if (inside) inside.tabIndex = -1;
      const cell = h(`div.cellOfData.${kind}`, { role: 'gridcell', 'aria-colindex': at + 1, tabindex: -1 }, inside);
      cell.style.inlineSize = `${width}rem`;
      return cell;
    });
    row.element = h('div.rowOfData', { role: 'row' }, cells);
    this.#body.append(row.element);
    return row;
  }

  #number(row, index) {
    row.element.ariaRowIndex = index + 2;
    row.element.dataset.index = index;
    row.isShown = false;
  }

  #place(row, top) {
    if (row.top === top) return;
    row.top = top;
    row.element.style.transform = `translateY(${top}px)`;
  }

  #show(row, object) {
    if (row.isShown && row.object === object) return;
    if (row.isShown && row.element.querySelector(FIELD)) return;
    row.object = object;
    row.isShown = true;
    row.element.ariaBusy = String(object === undefined);
    row.element.dataset.state = object ? this.#classOf(object) : '';
    const isBusy = object === undefined;
    this.#columns.forEach((column, at) => {
      if (column.control) {
        const { firstChild } = row.element.children[at];
        firstChild.hidden = !object;
        if (object) column.control.show(firstChild, object);
      } else this.#write(row, at, object ? column.cell(object) : isBusy ? '…' : at === this.#firstText ? '–' : '');
    });
  }

  /** Replaces a text in its existing node. */
  #write({ element, texts }, at, text) {
    const cell = element.children[at];
    const known = texts[at];
    const isOurs = known ? cell.firstChild === known.node && !known.node.nextSibling : !cell.firstChild;
    if (isOurs && (known?.text ?? '') === text) return;
    this.#changed += 1;
    if (isOurs && known) {
      known.node.data = text;
      known.text = text;
    } else {
      cell.textContent = text;
      texts[at] = text ? { node: cell.firstChild, text } : undefined;
    }
  }
}
