// Saved views of a list: search, order and columns under a name. The services store them per operator; a link shares
// one.

import { run } from '../../shared/api.js';
import { h } from '../../shared/dom.js';
import { dialog } from '../../shared/elements/dialog.js';
import { toast } from '../../shared/elements/toast.js';
import { t } from '../../shared/i18n.js';
import { fieldError } from '../../shared/problems.js';
import { cached, forget } from '../../shared/store.js';
import { askIfThere } from '../shell/areas.js';
import { columnChooser } from './column-chooser.js';

const KEPT = 'deskViews';

/** The operator's views of all lists; null when the services do not store any, or do not respond. */
function savedViews() {
  return cached(KEPT, () => askIfThere(KEPT, {})).catch(() => null);
}

/** Parts of a list's URL that belong to no view: the page, and the object that was just added. */
const passing = ['page', 'added'];

/** The normalized query of a view: the list's URL in a fixed order, so that equal views have equal texts. */
export function viewQuery(query) {
  const parts = Object.entries(query).filter(([name, value]) => !passing.includes(name) && value);
  return new URLSearchParams(parts.sort(([a], [b]) => (a < b ? -1 : 1))).toString();
}

/**
 * The columns that a URL selects. Columns without a name and the row's title are always shown; `-` selects no others.
 */
export function wantedColumns(columns, wanted) {
  if (!wanted) return columns;
  const names = new Set(wanted.split(','));
  return columns.filter(({ name, lead }) => !name || lead || names.has(name));
}

/**
 * The bar above a list: its saved views, and the choice of columns.
 * @param list the list's path without the leading slash, which identifies it.
 * @param columns the columns of its table; the ones with a `name` are optional.
 */
export async function viewBar(list, { router, query, redraw }, columns) {
  const views = await savedViews();
  const now = viewQuery(query);
  const mine = (views ?? []).filter((view) => view.list === list);
  const current = mine.find((view) => view.query === now);
  const links = mine.map((view) =>
    h(
      'a.button',
      {
        href: router.href(`/${list}`, Object.fromEntries(new URLSearchParams(view.query))),
        'aria-current': view === current ? 'true' : null,
      },
      view.name,
    ),
  );
  const after = (done) => {
    if (!done) return;
    forget(KEPT);
    redraw();
  };
  const button = (key, work) => h('button.quiet', { type: 'button', onclick: () => work().then(after) }, t(key));
  return h(
    'div.bar.views',
    links.length ? h('nav.chips', { 'aria-label': t('views.label') }, links) : null,
    !views || current ? null : button('views.save', () => save(list, now)),
    current ? button('views.remove', () => remove(current, () => after(true))) : null,
    chooser(columns, query.columns, (chosen) =>
      router.go(`/${list}`, { ...query, columns: chosen }, { replace: true }),
    ),
  );
}

function save(list, query) {
  return dialog({
    title: t('views.saveTitle'),
    text: t('views.saveText'),
    fields: [{ name: 'name', label: t('views.name'), required: true, maxlength: 50 }],
    async submit(values) {
      const name = values.name.trim();
      if (!name) throw fieldError('name', t('views.noName'));
      await run('saveDeskView', { list, name, ...(query ? { query } : {}) });
      toast(t('views.saved', { name }));
    },
  });
}

function remove({ list, name, query }, renew) {
  const takeBack = async () => {
    await run('saveDeskView', { list, name, ...(query ? { query } : {}) });
    renew();
  };
  return dialog({
    title: t('views.removeTitle', { name }),
    text: t('views.removeText'),
    confirm: t('views.remove'),
    isDanger: true,
    async submit() {
      await run('removeDeskView', { list, name });
      toast(t('views.removed', { name }), 'good', takeBack);
    },
  });
}

function chooser(columns, wanted, change) {
  const named = columns.filter(({ name, lead }) => name && !lead);
  if (!named.length) return null;
  const shown = wantedColumns(named, wanted).map(({ name }) => name);
  return columnChooser(named, shown, (names, isAll) => change(isAll ? '' : names.join(',') || '-'));
}
