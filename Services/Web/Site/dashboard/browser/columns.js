// The columns of the grid: the checkboxes for selecting rows, and the fields.

import { fixed, isSortable, shown } from '../../shared/browser/types.js';
import { h } from '../../shared/dom.js';
import { t } from '../../shared/i18n.js';

const widths = { objectId: 9, number: 8, boolean: 6, date: 13, pointer: 15, geo: 13, text: 15 };

export function box(selected, ontoggle) {
  const make = (row) =>
    h('input', {
      type: 'checkbox',
      onchange: (event) => {
        selected[event.target.checked ? 'add' : 'delete'](row().objectId);
        ontoggle();
      },
    });
  const show = (input, { objectId }) => {
    input.checked = selected.has(objectId);
    input.ariaLabel = t('data.select', { id: objectId });
  };
  return { name: '', title: h('span.unseen', t('data.selection')), width: 3, kind: 'box', control: { make, show } };
}

export function column({ name, kind, target }) {
  const own = kind === 'acl' || fixed.includes(name) ? kind : undefined;
  const none = name === 'ACL' ? t('acl.none') : '';
  return {
    name,
    kind,
    target,
    title: name,
    width: widths[name] ?? widths[kind] ?? 15,
    sort: isSortable(kind) ? name : null,
    cell: (row) => shown(row[name], own) || none,
  };
}
