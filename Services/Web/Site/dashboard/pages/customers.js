// The people who ordered, from their orders, and for operators who manage accounts every account.

import { containing, find } from '../../shared/api.js';
import { h } from '../../shared/dom.js';
import { table } from '../../shared/elements/table.js';
import { ago, money, number } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';
import { accounts } from '../customers/accounts.js';
import { viewBar, wantedColumns } from '../lists/list-views.js';
import { counted, heading, stateChips } from '../lists/listing.js';
import { searchField } from '../lists/search-field.js';
import { left, made, nameOf } from '../orders/shared.js';
import { runs } from '../shell/areas.js';

/** Orders that are searched. */
const ORDERS = 500;

export async function render(view) {
  const { router, query } = view;
  if (!runs('support')) return buyers(view, null);
  const show = query.show === 'accounts' ? 'accounts' : '';
  const chips = stateChips(
    t('customers.show'),
    ['', 'accounts'].map((key) => [key, t(`customers.show.${key || 'buyers'}`)]),
    show,
    (next) => router.go('/customers', { show: next, search: query.search }, { replace: true }),
  );
  if (!show) return buyers(view, chips);
  return [heading(t('area.customers'), t('accounts.note')), h('div.bar', chips), await accounts(view)];
}

async function buyers(view, chips) {
  const { router, query, signal } = view;
  const columns = columnsOf(router);
  const [found, views] = await Promise.all([
    find('Order', {
      where: condition(query.search),
      order: '-orderNo',
      limit: ORDERS,
      count: 1,
      signal,
      keys: 'customer,orderDate,total,currency,refundedTotal,shippingAddress,email',
    }),
    viewBar('customers', view, columns),
  ]);
  const customers = together(found.results);
  return [
    heading(t('area.customers'), counted('customers.count', customers.length)),
    chips ? h('div.bar', chips) : null,
    h(
      'div.bar',
      searchField(t('customers.search'), query.search, (search) =>
        router.go('/customers', { ...query, search }, { replace: true }),
      ),
    ),
    views,
    list(customers, wantedColumns(columns, query.columns), router),
    found.count > ORDERS ? h('p.pager', t('customers.part', { n: ORDERS, count: number(ORDERS) })) : null,
  ];
}

function condition(search) {
  const words = (search ?? '').trim().split(/\s+/).filter(Boolean).slice(0, 4);
  if (!words.length) return made;
  const fields = ['firstName', 'lastName', 'city', 'zipcode', 'phone'].map((name) => `shippingAddress.${name}`);
  return {
    ...made,
    $and: words.map((word) => ({ $or: [...fields, 'email'].map((field) => ({ [field]: containing(word) })) })),
  };
}

/** One row per customer; the newest order gives the address. */
function together(orders) {
  const byId = new Map();
  for (const order of orders) {
    const id = order.customer?.objectId;
    if (!id) continue;
    const customer = byId.get(id) ?? { id, latest: order, orders: 0, spent: new Map() };
    customer.orders += 1;
    customer.spent.set(order.currency, (customer.spent.get(order.currency) ?? 0) + left(order));
    byId.set(id, customer);
  }
  return [...byId.values()];
}

function columnsOf(router) {
  return [
    {
      title: t('customer.name'),
      lead: true,
      cell: (customer) => h('a', { href: router.href(`/customers/${customer.id}`) }, nameOf(customer.latest)),
    },
    { name: 'place', title: t('customer.place'), cell: (customer) => customer.latest.shippingAddress?.city ?? '' },
    { name: 'orders', title: t('customer.orders'), end: true, cell: (customer) => number(customer.orders) },
    {
      name: 'spent',
      title: t('customer.spent'),
      end: true,
      cell: (customer) => [...customer.spent].map(([currency, sum]) => money(sum, currency)).join(' + '),
    },
    { name: 'last', title: t('customer.last'), cell: (customer) => ago(customer.latest.orderDate) },
  ];
}

function list(customers, columns, router) {
  const shown = table(columns, {
    label: t('area.customers'),
    id: (customer) => customer.id,
    empty: t('customers.none'),
    open: (customer) => router.go(`/customers/${customer.id}`),
  });
  shown.rows = customers;
  return shown;
}
