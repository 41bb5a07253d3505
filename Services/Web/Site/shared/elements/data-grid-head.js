// The heading of a data grid's column: a button when rows can be sorted by it.

import { h } from '../dom.js';

export function heading(column, index, { sorted = '', onsort }) {
  const attributes = { role: 'columnheader', 'aria-colindex': index + 1 };
  if (!column.sort) return h(`div.cellOfData.${column.kind}`, attributes, column.title);
  const state = sorted === column.sort ? 'ascending' : sorted === `-${column.sort}` ? 'descending' : 'none';
  const next = state === 'ascending' ? `-${column.sort}` : column.sort;
  const mark = { ascending: ' ↑', descending: ' ↓', none: '' }[state];
  return h(
    `div.cellOfData.${column.kind}`,
    { ...attributes, 'aria-sort': state },
    h(
      'button.sort',
      { type: 'button', onclick: () => onsort(next) },
      column.title,
      h('span', { 'aria-hidden': 'true' }, mark),
    ),
  );
}
