// Orders, newest first: by state, days, number or recipient.

import { ask } from '../../../shared/api.js';
import { fill, h } from '../../../shared/dom.js';
import { table } from '../../../shared/elements/table.js';
import { dateTime, number } from '../../../shared/format.js';
import { t } from '../../../shared/i18n.js';
import { dayNumber, startOfDay } from '../../../shared/zone.js';
import { viewBar, wantedColumns } from '../../lists/list-views.js';
import { followList } from '../../live/list.js';
import { newsLine } from '../../live/news.js';
import { counted, heading, pager, stateChips } from '../../lists/listing.js';
import { searchField } from '../../lists/search-field.js';
import { runs } from '../../shell/areas.js';
import { bulkBar, exportOrders } from '../../orders/bulk.js';
import { inState, matching, nameOf, pieces, states, stateTag, total } from '../../orders/shared.js';

const PAGE = 25;
/** Newest first by default. */
const sorts = ['-orderNo', 'orderNo', '-orderDate', 'orderDate', '-total', 'total', '-name', 'name'];

export async function render(view) {
  const { router, query, signal, redraw } = view;
  const sorted = sorts.includes(query.sort) ? query.sort : sorts[0];
  const page = Math.max(1, Number.parseInt(query.page ?? '1', 10) || 1);
  const selected = new Map();
  const bulk = h('div.bar.bulk', { role: 'group', 'aria-label': t('bulk.label') });
  const drawBulk = () => fill(bulk, bulkBar(selected, router, redraw, { count: shown.rows.length, selectAll }));
  const columns = columnsOf(router, selected, drawBulk);
  const where = condition(query);
  const wanted = parameters(query, where);
  const load = () => ask('orders', { ...wanted, sort: sorted, limit: PAGE, skip: (page - 1) * PAGE }, signal);
  const [found, views] = await Promise.all([load(), viewBar('orders', view, columns)]);
  const go = (change) => router.go('/orders', { ...query, page: '', ...change }, { replace: true });
  const choices = [['', t('orders.all')], ...Object.keys(states).map((state) => [state, t(`state.${state}`)])];
  const onsort = (sort) => go({ sort });
  const shown = list(found.results, wantedColumns(columns, query.columns), { router, sorted, onsort });
  const [many, pages, news] = [h('span'), h('div'), newsLine()];
  const note = ({ count }) => fill(many, counted('orders.count', count));
  const put = (next) => {
    shown.rows = next.results;
    note(next);
    fill(pages, pager(page, PAGE, next.count, (number) => router.go('/orders', { ...query, page: number })) ?? []);
  };
  put(found);
  function selectAll(isAll) {
    selected.clear();
    if (isAll) for (const order of shown.rows) selected.set(order.objectId, order);
    shown.rows = [...shown.rows];
    drawBulk();
  }
  drawBulk();
  const keys = ['orderState', 'refundState'];
  const newest = Math.max(0, ...found.results.map((order) => order.orderNo));
  followList('Order', { where, keys }, { shown, news, load, put, note, words: wordsAfter(newest) }, signal);
  return [
    heading(
      t('area.orders'),
      many,
      h(
        'div.actions',
        runs('orders') ? h('a.button', { href: router.href('/charges') }, t('charge.title')) : null,
        h('a.button', { href: router.href('/orders/sheets/picking-list') }, t('sheet.allToPick')),
        h(
          'button',
          { type: 'button', onclick: (event) => exportOrders(where, wanted, event.currentTarget) },
          t('csv.export'),
        ),
      ),
    ),
    h(
      'div.bar',
      searchField(t('orders.search'), query.search, (search) => go({ search })),
      period(query, go),
    ),
    h(
      'div.bar',
      stateChips(t('orders.state'), choices, query.state ?? '', (state) => go({ state })),
      query.code
        ? h('button', { type: 'button', onclick: () => go({ code: '' }) }, t('orders.everyCode', { code: query.code }))
        : null,
    ),
    found.counting ? h('p.hint', { role: 'status' }, t('customers.counting')) : null,
    views,
    bulk,
    news.element,
    shown,
    pages,
  ];
}

/** The text about new rows: they may also be older orders, from another page or another state. */
function wordsAfter(newest) {
  return (added) => {
    const isNew = added.length && added.every((order) => order.orderNo > newest);
    return isNew ? counted('live.newOrders', added.length) : t('live.listChanged');
  };
}

/** The condition of the class, without the search. */
function condition({ state, from, to, code }) {
  const where = { ...inState(state in states ? state : '') };
  const days = {};
  if (from) days.$gte = start(from, 0);
  if (to) days.$lt = start(to, 1);
  if (Object.keys(days).length) where.orderDate = days;
  if (code) where.discountCode = code;
  return where;
}

/** The parameters of `orders` with the same condition, and the search. */
function parameters({ state, search, code }, { orderDate }) {
  return {
    ...matching(search),
    ...(state in states ? { status: state } : {}),
    ...(orderDate ? { from: orderDate.$gte, to: orderDate.$lt } : {}),
    ...(code ? { discountCode: code } : {}),
  };
}

/** The first moment of a day, or of a later one. */
function start(text, later) {
  const at = startOfDay(dayNumber(text) + later);
  return Number.isNaN(at.getTime()) ? undefined : { __type: 'Date', iso: at.toISOString() };
}

function period(query, go) {
  const input = (name, label) =>
    h('input', {
      type: 'date',
      name,
      value: query[name] ?? '',
      'aria-label': label,
      onchange: (event) => go({ [name]: event.target.value }),
    });
  return h(
    'div.period',
    input('from', t('orders.from')),
    h('span', { 'aria-hidden': 'true' }, '–'),
    input('to', t('orders.to')),
  );
}

function columnsOf(router, selected, onselect) {
  return [
    { title: t('bulk.select'), narrow: true, cell: (order) => choice(order, selected, onselect) },
    {
      title: t('order.number'),
      lead: true,
      sort: 'orderNo',
      cell: (order) => h('a', { href: router.href(`/orders/${order.objectId}`) }, `№ ${order.orderNo}`),
    },
    { name: 'date', title: t('order.date'), sort: 'orderDate', cell: (order) => dateTime(order.orderDate) },
    { name: 'customer', title: t('order.customer'), sort: 'name', cell: nameOf },
    { name: 'pieces', title: t('order.pieces'), end: true, cell: (order) => number(pieces(order)) },
    { name: 'total', title: t('order.total'), end: true, sort: 'total', cell: total },
    { name: 'state', title: t('order.state'), cell: stateTag },
  ];
}

function choice(order, selected, onselect) {
  return h('input', {
    type: 'checkbox',
    checked: selected.has(order.objectId),
    'aria-label': t('bulk.selectOne', { name: `№ ${order.orderNo}` }),
    onchange: (event) => {
      if (event.target.checked) selected.set(order.objectId, order);
      else selected.delete(order.objectId);
      onselect();
    },
  });
}

function list(orders, columns, { router, sorted, onsort }) {
  const shown = table(columns, {
    label: t('area.orders'),
    id: (order) => order.objectId,
    empty: t('orders.none'),
    open: (order) => router.go(`/orders/${order.objectId}`),
    sorted,
    onsort,
  });
  shown.rows = orders;
  return shown;
}
