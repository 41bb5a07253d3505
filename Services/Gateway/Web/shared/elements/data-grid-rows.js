// The rows of a data grid: as many elements as are in sight, which stand for other rows as somebody scrolls. Nothing is
// dropped and made anew, so that scrolling leaves no garbage.

import { h } from '../dom.js';

/** A value that is being typed: its row is drawn anew when that is over, not when an earlier answer comes. */
const FIELD = ':scope > .cellOfData > :is(input:not([type="checkbox"]), select)';

export class GridRows {
  #columns;
  #classOf;
  #body;
  #at;
  #rows = new Map();
  #spare = [];
  #firstText;

  /**
   * @param columns as of `DataGrid.define`.
   * @param at answers the row of an index: undefined while it is not here, null when it was deleted.
   */
  constructor(body, columns, { classOf, at }) {
    this.#body = body;
    this.#columns = columns;
    this.#classOf = classOf;
    this.#at = at;
    this.#firstText = columns.findIndex((column) => !column.control);
  }

  /** The cell of a place; undefined when its row is no element. */
  cell(row, column) {
    return this.#rows.get(row)?.element.children[column];
  }

  /**
   * Makes elements stand for the rows from `first` to `last`. The row that has the focus stays where it is.
   * @param start the row at the top of what scrolls; each has the height `height`.
   */
  draw(first, last, start, height) {
    const focused = document.activeElement;
    let next = null;
    for (const [index, row] of this.#rows) {
      if (index < first || index > last) {
        if (!row.element.contains(focused)) {
          this.#rows.delete(index);
          this.#spare.push(row);
        } else {
          this.#place(row, (index - start) * height);
          if (index > last) next = row.element;
        }
      }
    }
    // From the end, so that each finds the one that it stands before: none is moved but those that are used again.
    for (let index = last; index >= first; index -= 1) {
      let row = this.#rows.get(index);
      if (!row) {
        row = this.#spare.pop() ?? this.#make();
        this.#rows.set(index, row);
        this.#number(row, index);
        this.#body.insertBefore(row.element, next);
      }
      this.#place(row, (index - start) * height);
      this.#show(row, this.#at(index));
      next = row.element;
    }
    for (const { element } of this.#spare) element.remove();
  }

  #make() {
    const row = { element: null, object: undefined, isShown: false, top: NaN };
    const cells = this.#columns.map(({ kind, control }, at) => {
      const inside = control?.make(() => row.object) ?? null;
      if (inside) inside.tabIndex = -1;
      return h(`div.cellOfData.${kind}`, { role: 'gridcell', 'aria-colindex': at + 1, tabindex: -1 }, inside);
    });
    row.element = h('div.rowOfData', { role: 'row' }, cells);
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
    for (const [at, column] of this.#columns.entries()) {
      const cell = row.element.children[at];
      if (column.control) {
        cell.firstChild.hidden = !object;
        if (object) column.control.show(cell.firstChild, object);
      } else write(cell, object ? column.cell(object) : object === undefined ? '…' : at === this.#firstText ? '–' : '');
    }
  }
}

/** A text in the place of another one, in the node that is there. */
function write(cell, text) {
  const node = cell.firstChild;
  if (node?.nodeType !== Node.TEXT_NODE || node.nextSibling) cell.textContent = text;
  else if (node.data !== text) node.data = text;
}
