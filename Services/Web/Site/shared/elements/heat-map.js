// A table whose cells are darker for larger shares. Each cell has its figures as text, so that colour is not the only
// carrier, and a screen reader gets the same table with its headings.

import { shade } from '../figures/cohorts.js';
import { number, portion } from '../format.js';
import { fill, h } from '../dom.js';

export class HeatMap extends HTMLElement {
  /**
   * @param rows `{ label, size, note, cells: [{ count, share, isOpen }] }`; a row may have fewer cells than columns.
   * @param options `{ title, corner, size, columns, open, averages }`: the table's name, the headings of the first two
   *   columns and of all others, a text for a cell whose period is not over, and `{ label, cells }` for the last row.
   */
  show(rows, { title, corner, size, columns, open, averages }) {
    const head = [corner, size, ...columns].map((text, at) => h(at === 1 ? 'th.end' : 'th', { scope: 'col' }, text));
    const last =
      averages && h('tr', h('th', { scope: 'row' }, averages.label), h('td'), cells(averages.cells, columns));
    const table = h(
      'table',
      h('caption.unseen', title),
      h('thead', h('tr', head)),
      h(
        'tbody',
        rows.map((row) =>
          h(
            'tr',
            h('th', { scope: 'row' }, row.label, row.note ? h('span.soft', ` ${row.note}`) : null),
            h('td.end', number(row.size)),
            cells(row.cells, columns, open),
          ),
        ),
      ),
      last ? h('tfoot', last) : null,
    );
    // Wider than a phone: the table scrolls on its own, also by keyboard.
    return fill(this, h('div.heat', { role: 'region', tabindex: 0, 'aria-label': title }, table));
  }
}

function cells(all, columns, open) {
  return columns.map((_, index) => {
    const { count, share, isOpen } = all[index] ?? { share: null };
    if (share === null) return h('td');
    return h(
      `td.heat${shade(share)}${isOpen ? '.growing' : ''}`,
      h('span', portion(share)),
      h('small', number(count)),
      isOpen ? h('span.unseen', ` ${open}`) : null,
    );
  });
}

customElements.define('s-heat-map', HeatMap);
