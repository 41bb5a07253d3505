// A grid of permission checkboxes: a real table, so that a screen reader names each box by its row and column.

import { h } from '../../shared/dom.js';

/**
 * @param options `{ label, corner, rows, columns, checked(row, column), toggle(row, column, isOn), box(row, column) }`:
 *   rows and columns are `{ id, text, note, remove }`; `box` gives the label of a checkbox.
 */
export function grantGrid({ label, corner, rows, columns, checked, toggle, box }) {
  const cell = (row, column) =>
    h(
      'td',
      h('input', {
        type: 'checkbox',
        checked: checked(row.id, column.id),
        'aria-label': box(row, column),
        onchange: (event) => toggle(row.id, column.id, event.target.checked),
      }),
    );
  const head = ({ text, note, remove }, scope) =>
    h('th', { scope }, text, note ? h('span.soft.small', ' ', note) : null, remove ?? null);
  return h(
    'div.grants',
    { role: 'region', 'aria-label': label, tabindex: 0 },
    h(
      'table',
      h('caption.unseen', label),
      h(
        'thead',
        h(
          'tr',
          h('th', { scope: 'col' }, corner),
          columns.map((column) => head(column, 'col')),
        ),
      ),
      h(
        'tbody',
        rows.map((row) =>
          h(
            'tr',
            head(row, 'row'),
            columns.map((column) => cell(row, column)),
          ),
        ),
      ),
    ),
  );
}
