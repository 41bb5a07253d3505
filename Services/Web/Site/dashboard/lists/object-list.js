// A list of objects of one class that operators edit: with search, and dialogs to add, edit and remove objects.

import { call, containing, create, find, update } from '../../shared/api.js';
import { h } from '../../shared/dom.js';
import { dialog, field } from '../../shared/elements/dialog.js';
import { table } from '../../shared/elements/table.js';
import { toast } from '../../shared/elements/toast.js';
import { t } from '../../shared/i18n.js';
import { reverse } from '../../shared/undo.js';
import { icon } from '../../shared/icons.js';
import { productTabs } from '../products/tabs.js';
import { viewBar, wantedColumns } from './list-views.js';
import { counted, heading, pager } from './listing.js';
import { searchField } from './search-field.js';

const PAGE = 50;

/**
 * @param kind describes the class: `{ name, className, order, search, title(object), columns(router), above(objects,
 *   open), form(object, objects) }`. `name` is used for the tab, the path and the texts; `search` lists fields. `above`
 *   returns the element above the list, and its `open` edits an object. `form` returns `{ fields, content, isWide,
 *   read(values) }`, and `read` the object's new fields.
 */
export async function objectList(view, kind) {
  const { router, query, signal, redraw } = view;
  const page = Math.max(1, Number.parseInt(query.page ?? '1', 10) || 1);
  const text = (query.search ?? '').trim();
  const columns = kind.columns(router);
  const [found, views] = await Promise.all([
    find(kind.className, {
      where: text ? { $or: kind.search.map((name) => ({ [name]: containing(text) })) } : {},
      order: kind.order,
      limit: PAGE,
      skip: (page - 1) * PAGE,
      count: 1,
      signal,
    }),
    viewBar(kind.name, view, columns),
  ]);
  const path = `/${kind.name}`;
  const after = (done) => done && redraw();
  const open = (object) => edit(kind, object, found.results, redraw).then(after);
  const shown = table(
    [
      ...wantedColumns(columns, query.columns),
      { title: '', end: true, cell: (object) => buttons(kind, object, open, after) },
    ],
    {
      label: t(`tab.${kind.name}`),
      id: (object) => object.objectId,
      empty: t(`${kind.name}.none`),
    },
  );
  shown.rows = found.results;
  return [
    heading(
      t(`tab.${kind.name}`),
      counted(`${kind.name}.count`, found.count),
      h('button.primary', { type: 'button', onclick: () => open(null) }, icon('plus'), t(`${kind.name}.add`)),
    ),
    productTabs(router, kind.name),
    h(
      'div.bar',
      searchField(t(`${kind.name}.search`), query.search, (search) =>
        router.go(path, { ...query, page: '', search }, { replace: true }),
      ),
    ),
    views,
    kind.above?.(found.results, open),
    shown,
    pager(page, PAGE, found.count, (next) => router.go(path, { ...query, page: next })),
  ];
}

function buttons(kind, object, open, after) {
  const name = kind.title(object);
  const button = (key, onclick) =>
    h('button.quiet', { type: 'button', 'aria-label': `${t(key)}: ${name}`, onclick }, t(key));
  return h(
    'div.actions.tight',
    button('action.edit', () => open(object)),
    button('action.delete', () => remove(kind, object).then(after)),
  );
}

function edit(kind, object, objects, redraw) {
  const form = kind.form(object ?? {}, objects);
  return dialog({
    title: object ? t('object.edit', { name: kind.title(object) }) : t(`${kind.name}.add`),
    content: [(form.fields ?? []).map(field), form.content ?? null],
    isWide: form.isWide,
    async submit(values) {
      const wanted = await form.read(values);
      const answer = object
        ? await update(kind.className, object.objectId, wanted)
        : await create(kind.className, wanted);
      const takeBack = async () => {
        await update(kind.className, object.objectId, reverse(object, wanted));
        await redraw();
      };
      // The files of an earlier picture may be deleted.
      const isReversible = object && !('image' in wanted);
      toast(t('object.saved', { name: kind.title({ ...object, ...wanted }) }), 'good', isReversible ? takeBack : null);
      return answer;
    },
  });
}

function remove(kind, object) {
  const name = kind.title(object);
  return dialog({
    title: t('object.removeTitle', { name }),
    text: t(`${kind.name}.removeText`),
    confirm: t('action.delete'),
    isDanger: true,
    async submit() {
      await call('DELETE', `/classes/${kind.className}/${encodeURIComponent(object.objectId)}`);
      toast(t('object.removed', { name }));
    },
  });
}

/** The trimmed texts of a form; an empty text removes the field from an object that had it. */
export function texts(values, names, object) {
  const wanted = {};
  for (const name of names) {
    const text = values[name].trim().replaceAll('\r\n', '\n');
    if (text) wanted[name] = text;
    else if (object[name] !== undefined) wanted[name] = { __op: 'Delete' };
  }
  return wanted;
}
