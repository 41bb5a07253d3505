// The dialog that selects a table's columns.

import { h } from '../../shared/dom.js';
import { t } from '../../shared/i18n.js';

/**
 * @param columns `{ name, title }` of the optional columns; the name is shown when there is no title.
 * @param shown the names of the visible columns.
 * @param change is called with the selected names, and whether these are all columns.
 */
export function columnChooser(columns, shown, change) {
  const boxes = columns.map(({ name, title }) =>
    h('label.check', h('input', { type: 'checkbox', name, checked: shown.includes(name) }), h('span', title ?? name)),
  );
  const apply = (event) => {
    event.preventDefault();
    const names = columns.map(({ name }) => name).filter((name) => event.target.elements[name].checked);
    change(names, names.length === columns.length);
  };
  return h(
    'details.columnsOfData',
    h('summary.button', t('data.columns')),
    h(
      'form.builder',
      { onsubmit: apply },
      h('div.picks', boxes),
      h('button.primary', { type: 'submit' }, t('data.apply')),
    ),
  );
}
