// Orders on paper. Each sheet is one article, whose styles for print are in dashboard.css.

import { h } from '../../shared/dom.js';
import { date, money, number } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';
import { server } from '../../shared/settings.js';
import { left, nameOf, pieces, stateOf, townOf } from './shared.js';

/** For the parcel: its content, without prices or internal notes. */
export function packingSlip(order) {
  const rows = itemsOf(order).map((item) => [item.name ?? t('order.product'), number(item.quantity)]);
  return sheet(
    t('sheet.packing-slip'),
    facts(order),
    h('section', h('h2', t('order.shipTo')), h('address.address', addressOf(order))),
    linesOf([t('order.product'), t('order.pieces')], rows),
    h('p', counted('sheet.pieces', pieces(order))),
    order.giftMessage ? h('section', h('h2', t('order.giftMessage')), h('p.address', order.giftMessage)) : null,
  );
}

/** For the customer's books: prices, total and refunds. */
export function invoice(order) {
  const amount = (minorUnits) => (minorUnits === undefined ? '' : money(minorUnits, order.currency));
  const rows = itemsOf(order).map(({ name, quantity, unitPriceMinorUnits: each }) => [
    name ?? t('order.product'),
    number(quantity),
    amount(each),
    amount(each === undefined ? undefined : each * quantity),
  ]);
  const sum = (title, minorUnits, kind = '') => h(`div${kind}`, h('dt', title), h('dd', amount(minorUnits)));
  return sheet(
    t('sheet.invoice'),
    facts(order),
    h('section', h('h2', t('sheet.billTo')), h('address.address', [addressOf(order), order.email].join('\n').trim())),
    linesOf([t('order.product'), t('order.pieces'), t('order.each'), t('order.sum')], rows),
    h(
      'dl.facts',
      order.discountMinorUnits
        ? [
            sum(t('order.subtotal'), order.total + order.discountMinorUnits),
            sum(t('order.discount', { code: order.discountCode }), -order.discountMinorUnits),
          ]
        : null,
      sum(t('order.total'), order.total ?? 0, '.sum'),
      order.refundedTotal ? sum(t('order.refunded'), -order.refundedTotal) : null,
      order.refundedTotal ? sum(t('order.left'), left(order), '.sum') : null,
    ),
    stateOf(order) === 'cancelled' ? h('p', t('sheet.cancelled')) : null,
  );
}

/** For the shelves: the pieces of all orders by product, then the orders. */
export function pickingList(orders) {
  const products = new Map();
  for (const order of orders) {
    for (const { name = t('order.product'), quantity, product } of itemsOf(order)) {
      const id = product?.objectId ?? '';
      const key = `${id} ${name}`;
      const line = products.get(key) ?? { name, id, count: 0, numbers: [] };
      line.count += quantity;
      line.numbers.push(`№ ${order.orderNo}`);
      products.set(key, line);
    }
  }
  const byName = [...products.values()].sort((a, b) => a.name.localeCompare(b.name) || a.id.localeCompare(b.id));
  /** Names that different products have. */
  const shared = new Set(byName.map(({ name }) => name).filter((name, index, names) => names.indexOf(name) < index));
  return sheet(
    t('sheet.picking-list'),
    h('p', [date(new Date().toISOString()), ' · ', counted('orders.count', orders.length)]),
    linesOf(
      [t('order.product'), t('order.pieces'), t('area.orders')],
      byName.map(({ name, id, count, numbers }) => [
        id && shared.has(name) ? `${name} (${id})` : name,
        number(count),
        numbers.join(', '),
      ]),
    ),
    linesOf(
      [t('order.number'), t('order.customer'), t('order.pieces')],
      orders.map((order) => [`№ ${order.orderNo}`, nameOf(order), number(pieces(order))]),
    ),
  );
}

function sheet(title, ...content) {
  return h('article.card.sheet', h('header', h('p', server.shop), h('h1', title)), content);
}

function facts(order) {
  return h('p', [`№ ${order.orderNo ?? ''}`, ' · ', date(order.orderDate)]);
}

function addressOf(order) {
  const address = order.shippingAddress ?? {};
  return [nameOf(order), address.address1, address.address2, townOf(address)].filter(Boolean).join('\n');
}

/** The items that were not deleted. */
function itemsOf(order) {
  return (order.items ?? []).filter((item) => item.__type === 'Object');
}

/** The first column is a row's heading. */
function linesOf(titles, rows) {
  return h(
    'table.lines',
    h(
      'thead',
      h(
        'tr',
        titles.map((title) => h('th', { scope: 'col' }, title)),
      ),
    ),
    h(
      'tbody',
      rows.map(([first, ...others]) =>
        h(
          'tr',
          h('th', { scope: 'row' }, first),
          others.map((text) => h('td', text)),
        ),
      ),
    ),
  );
}

function counted(key, n) {
  return t(key, { n, count: number(n) });
}
