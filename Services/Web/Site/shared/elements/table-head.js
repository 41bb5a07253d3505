// The heading of a table's column: its title, or a button that sorts by it.

import { h } from '../dom.js';
import { t } from '../i18n.js';

export function heading(column, { sorted = '', onsort }) {
  const attributes = { role: 'columnheader', scope: 'col', class: column.end ? 'end' : '' };
  if (!column.sort || !onsort) return h('th', attributes, column.title || h('span.unseen', t('table.actions')));
  const isUp = sorted === column.sort;
  const isDown = sorted === `-${column.sort}`;
  const next = isUp ? `-${column.sort}` : column.sort;
  attributes['aria-sort'] = isUp ? 'ascending' : isDown ? 'descending' : 'none';
  return h(
    'th',
    attributes,
    h(
      'button.sort',
      { type: 'button', onclick: () => onsort(next) },
      column.title,
      h('span', { 'aria-hidden': 'true' }, isUp ? ' ↑' : isDown ? ' ↓' : ''),
    ),
  );
}
