// The data browser: the rows of any class that the account may list, by cursor, so that a million scroll as ten do. The
// address has the whole view: class, filters, order and columns.

import { find, update } from '../../shared/api.js';
import { CursorPages } from '../../shared/browser/cursor-pages.js';
import { condition, read, written } from '../../shared/browser/filter.js';
import { columnsOf, fixed, isEditable, isSortable, shown } from '../../shared/browser/types.js';
import { fill, h } from '../../shared/dom.js';
import '../../shared/elements/data-grid.js';
import { failure } from '../../shared/elements/toast.js';
import { number } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';
import { icon } from '../../shared/icons.js';
import { cached } from '../../shared/store.js';
import { index } from '../browser/classes.js';
import { edit } from '../browser/editors.js';
import { filterBar } from '../browser/filters.js';
import { addRow, deleteRows, deletions, editRow } from '../browser/rows.js';
import { heading } from '../listing.js';

const widths = { objectId: 9, number: 8, boolean: 6, date: 13, pointer: 15, geo: 13, text: 15 };
const SORT = /^-?[A-Za-z_]\w*$/;

/** The class that is looked at now: rows that were deleted meanwhile are taken out of it. */
let open = null;

export async function render(view) {
  const { params, query, router, signal } = view;
  if (!params.className) return index(view);
  const { className } = params;
  const filters = read(query.filter);
  const sorted = SORT.test(query.sort ?? '') ? query.sort : '-createdAt';
  const where = condition(filters);
  const pages = new CursorPages((after) => find(className, { where, order: sorted, limit: 100, after, signal }));
  let refusal = null;
  pages.onerror = (error) => {
    refusal = error;
  };
  const [known] = await Promise.all([sample(className, signal), pages.want(0, 0)]);
  if (refusal) throw refusal;
  pages.onerror = (error) => {
    if (!signal.aborted) failure(error);
  };
  open = { className, pages };
  const columns = columnsOf([...known, ...pages.kept]);
  const chosen = (query.columns ?? '').split(',').filter((name) => columns.some((column) => column.name === name));
  const go = (change) => router.go(`/data/${className}`, { ...query, ...change }, { replace: true });
  const selected = new Set();
  const tools = h('div.actions');
  const grid = document.createElement('s-data-grid');
  pages.onchange = () => grid.draw();

  const drawTools = () =>
    fill(
      tools,
      selected.size
        ? h('button.danger', { type: 'button', onclick: remove }, t('data.deleteRows', { n: selected.size }))
        : null,
      h('button.primary', { type: 'button', onclick: add }, icon('plus'), t('data.addRow')),
    );

  function remove() {
    const ids = [...selected];
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
  async function save(row, changed) {
    const next = { ...row, ...changed };
    for (const [name, value] of Object.entries(changed)) if (value?.__op === 'Delete') delete next[name];
    pages.put(row.objectId, next);
    try {
      pages.put(row.objectId, { ...next, ...(await update(className, row.objectId, changed)) });
    } catch (error) {
      pages.put(row.objectId, row);
      failure(error);
    }
  }
  function enter({ row, column, cell }) {
    if (!row || deletions.has(row.objectId)) return;
    if (column.name === 'objectId') return editRow(row, (changed) => save(row, changed));
    if (!isEditable(column)) return failure(new Error(t('data.fixed', { field: column.name })));
    edit(
      { row, column, cell },
      (value) => save(row, { [column.name]: value === undefined ? { __op: 'Delete' } : value }),
      () => pages.put(row.objectId, { ...row }),
    );
  }

  const visible = chosen.length ? columns.filter(({ name }) => chosen.includes(name)) : columns;
  grid.define([box(selected, drawTools), ...visible.map(column)], {
    label: className,
    pages,
    sorted,
    onsort: (sort) => go({ sort }),
    enter,
    classOf: (row) => (deletions.has(row.objectId) ? 'going' : ''),
  });
  drawTools();
  const count = h('span', t('data.counting'));
  find(className, { where, limit: 0, count: 1, signal })
    .then((found) => fill(count, t('data.rows', { n: found.count, count: number(found.count) })))
    .catch(() => fill(count));
  return [
    h('a.back', { href: router.href('/data') }, t('data.classes')),
    heading(className, count, tools),
    h(
      'div.bar',
      filterBar(columns, filters, (next) => go({ filter: written(next) })),
      chooser(columns, visible, (names) => go({ columns: names.join(',') })),
    ),
    pages.length ? grid : h('p.card.nothing', t('data.noRows')),
    pages.length ? h('p.hint', t('data.gridHint')) : null,
  ];
}

function settle(ids, isGone) {
  if (!open) return;
  for (const row of open.pages.kept) {
    if (ids.includes(row.objectId)) open.pages.put(row.objectId, isGone(row.objectId) ? null : { ...row });
  }
}

/** The columns of a class do not change with a filter that finds nothing. */
function sample(className, signal) {
  const load = async () => (await find(className, { limit: 100, order: '-createdAt', signal })).results;
  return cached(`columns ${className}`, load, 30);
}

function box(selected, ontoggle) {
  const cell = (row) =>
    h('input', {
      type: 'checkbox',
      checked: selected.has(row.objectId),
      'aria-label': t('data.select', { id: row.objectId }),
      onchange: (event) => {
        selected[event.target.checked ? 'add' : 'delete'](row.objectId);
        ontoggle();
      },
    });
  return { name: '', title: h('span.unseen', t('data.selection')), width: 3, kind: 'box', cell };
}

function column({ name, kind, target }) {
  return {
    name,
    kind,
    target,
    title: name,
    width: widths[name] ?? widths[kind] ?? 15,
    sort: isSortable(kind) ? name : null,
    cell: (row) =>
      shown(row[name], kind === 'acl' || fixed.includes(name) ? kind : undefined) ||
      (name === 'ACL' ? t('acl.none') : ''),
  };
}

function chooser(columns, visible, change) {
  const boxes = columns.map(({ name }) =>
    h(
      'label.check',
      h('input', { type: 'checkbox', name, checked: visible.some((column) => column.name === name) }),
      h('span', name),
    ),
  );
  const apply = (event) => {
    event.preventDefault();
    const names = columns.map(({ name }) => name).filter((name) => event.target.elements[name].checked);
    change(names.length === columns.length ? [] : names);
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
