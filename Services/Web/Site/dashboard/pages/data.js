// The data browser: the rows of any class that the account may list. It pages by cursor, so that a million rows scroll
// like ten. The URL holds the whole view: class, filters, order, columns and viewer.

import { find, update } from '../../shared/api.js';
import { CursorPages } from '../../shared/browser/cursor-pages.js';
import { condition, read, written } from '../../shared/browser/filter.js';
import { columnsOf } from '../../shared/browser/schema.js';
import { isEditable } from '../../shared/browser/types.js';
import { fill, h } from '../../shared/dom.js';
import '../../shared/elements/data-grid.js';
import { failure, toast } from '../../shared/elements/toast.js';
import { number } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';
import { icon } from '../../shared/icons.js';
import { cached } from '../../shared/store.js';
import { changed, reverse } from '../../shared/undo.js';
import { runs } from '../shell/areas.js';
import { index } from '../browser/classes.js';
import { box, column } from '../browser/columns.js';
import { columnChooser } from '../lists/column-chooser.js';
import { edit } from '../browser/editors.js';
import { exportMenu } from '../browser/export.js';
import { filterBar } from '../browser/filters.js';
import { explanation, isExplained } from '../browser/private.js';
import { addRow, deleteRows, deletions, editRow } from '../browser/rows.js';
import { classTabs, schemas } from '../browser/schemas.js';
import { askViewer, isViewer, pageAs, viewerBar } from '../browser/viewer.js';
import { heading } from '../lists/listing.js';
import { newsLine } from '../live/news.js';
import { COUNTED, followRows } from '../live/rows.js';

/** Newest first; the server needs no index for it at any size. */
const NEWEST = '-$natural';
const SORT = /^-?[A-Za-z_]\w*$/;

/** The current class: rows deleted in the meantime are removed from it. */
let open = null;

export async function render(view) {
  const { params, query, router, signal } = view;
  if (!params.className) return index(view);
  const { className } = params;
  if (isExplained(className)) return explanation(className, router, await schemas());
  const viewer = isViewer(query.as) && runs('admins') ? query.as : null;
  const filters = read(query.filter);
  const sorted = SORT.test(query.sort ?? '') ? query.sort : NEWEST;
  const where = condition(filters);
  const wanted = { where, order: sorted, limit: 100, signal };
  const pages = new CursorPages((after) =>
    viewer ? pageAs(viewer, className, { ...wanted, after }) : find(className, { ...wanted, after }),
  );
  let refusal = null;
  pages.onerror = (error) => {
    refusal = error;
  };
  const [all, known] = await Promise.all([schemas(), sample(className, signal), pages.want(0, 0)]);
  if (refusal?.isForbidden && className.startsWith('_')) return explanation(className, router, all);
  if (refusal) throw refusal;
  pages.onerror = (error) => {
    if (!signal.aborted) failure(error);
  };
  open = { className, pages };
  const columns = columnsOf(all?.get(className), [...known, ...pages.kept]);
  const chosen = (query.columns ?? '').split(',').filter((name) => columns.some((column) => column.name === name));
  const go = (change) => router.go(`/data/${className}`, { ...query, ...change }, { replace: true });
  const selected = new Set();
  const deleted = new Set();
  const news = newsLine();
  const tools = h('div.actions');
  const grid = document.createElement('s-data-grid');
  pages.onchange = () => grid.draw();

  const drawTools = () =>
    fill(
      tools,
      selected.size
        ? h('button.danger', { type: 'button', onclick: remove }, t('data.deleteRows', { n: selected.size }))
        : null,
      runs('admins')
        ? h('button', { type: 'button', onclick: () => askViewer((as) => go({ as })) }, t('viewer.ask'))
        : null,
      viewer ? null : h('button.primary', { type: 'button', onclick: add }, icon('plus'), t('data.addRow')),
    );

  function remove() {
    const ids = [...selected];
    for (const id of ids) deleted.add(id);
    selected.clear();
    deleteRows(className, ids, settle);
    for (const row of rowsOf(ids)) pages.put(row.objectId, { ...row });
    drawTools();
  }
  function rowsOf(ids) {
    return pages.kept.filter((row) => ids.includes(row.objectId));
  }
  async function add() {
    if (await addRow(className, columns)) router.refresh();
  }
  async function save(row, change, isUndo = false) {
    pages.change(row.objectId, change);
    try {
      pages.change(row.objectId, await update(className, row.objectId, change));
      const undo = () => save(changed(row, change), reverse(row, change), true);
      if (!isUndo) toast(t('object.saved', { name: row.objectId }), 'good', undo);
    } catch (error) {
      pages.takeBack(row, change);
      throw error;
    }
  }
  function enter({ row, column, cell, index }) {
    if (!row || deletions.has(row.objectId)) return;
    if (viewer) return failure(new Error(t('viewer.readOnly')));
    if (column.name === 'objectId') return editRow(row, (change) => save(row, change));
    if (!isEditable(column)) return failure(new Error(t('data.fixed', { field: column.name })));
    const done = edit(
      { row, column, cell, className },
      (value) => save(row, { [column.name]: value === undefined ? { __op: 'Delete' } : value }),
      () => pages.put(row.objectId, { ...(pages.at(index)?.objectId === row.objectId ? pages.at(index) : row) }),
    );
    // The cell to which the dialog would return the focus may have been redrawn.
    Promise.resolve(done).then(() => {
      const isLost = document.activeElement === document.body;
      if (isLost) grid.querySelector('[role=gridcell][tabindex="0"]')?.focus({ preventScroll: true });
    });
  }

  const visible = chosen.length ? columns.filter(({ name }) => chosen.includes(name)) : columns;
  grid.define([...(viewer ? [] : [box(selected, drawTools)]), ...visible.map(column)], {
    label: className,
    pages,
    sorted,
    onsort: (sort) => go({ sort }),
    enter,
    classOf: (row) => (deletions.has(row.objectId) ? 'going' : ''),
  });
  drawTools();
  const rows = { known: () => pages.kept, own: deleted, tell };
  if (!viewer) followRows(className, where, rows, signal);
  function tell(count) {
    const key = count === undefined ? 'live.rowsUnsure' : count > COUNTED ? 'live.rowsMore' : 'live.rows';
    news.offer(t(key, { n: count ?? 0, count: number(Math.min(count ?? 0, COUNTED)) }), () => router.refresh());
  }
  return [
    h('a.back', { href: router.href('/data') }, t('data.classes')),
    heading(className, viewer ? null : rowCount(className, where, signal), tools),
    all ? classTabs(router, className, 'rows') : null,
    viewer ? viewerBar(viewer, () => go({ as: '' })) : null,
    h(
      'div.bar',
      filterBar(columns, filters, (next) => go({ filter: written(next) })),
      columnChooser(
        columns.map(({ name }) => ({ name })),
        visible.map(({ name }) => name),
        (names, isAll) => go({ columns: isAll ? '' : names.join(',') }),
      ),
      runs('admins') && !viewer ? exportMenu(className, where, signal) : null,
    ),
    news.element,
    pages.length ? grid : h('p.card.nothing', t('data.noRows')),
    pages.length && !viewer ? h('p.hint', t('data.gridHint')) : null,
  ];
}

function rowCount(className, where, signal) {
  const count = h('span', t('data.counting'));
  find(className, { where, limit: 0, count: 1, signal })
    .then((found) => fill(count, t('data.rows', { n: found.count, count: number(found.count) })))
    .catch(() => fill(count));
  return count;
}

function settle(ids, isGone) {
  if (!open) return;
  for (const row of open.pages.kept) {
    if (ids.includes(row.objectId)) open.pages.put(row.objectId, isGone(row.objectId) ? null : { ...row });
  }
}

/** Sample rows, for columns outside the schema: of a class whose schema is not readable, and new ones. */
function sample(className, signal) {
  const load = async () => (await find(className, { limit: 100, order: NEWEST, signal })).results;
  return cached(`columns ${className}`, load, 30);
}
