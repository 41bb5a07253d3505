// The choice which columns a table has.

import { h } from '../shared/dom.js';
import { t } from '../shared/i18n.js';

/**
 * @param columns `{ name, title }` of those that may be left out; without a title its name says what one is.
 * @param shown the names of those that are there now.
 * @param change is told the names of those that are wanted, and whether that is all of them.
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
