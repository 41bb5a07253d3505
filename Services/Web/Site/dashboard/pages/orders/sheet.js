// Orders on paper: packing slips, invoices, or one picking list, of the orders in the URL or of all orders to ship.

import { APIError, find } from '../../../shared/api.js';
import { h } from '../../../shared/dom.js';
import { t } from '../../../shared/i18n.js';
import { counted } from '../../lists/listing.js';
import { packed, refundsOf } from '../../orders/parcel.js';
import { invoice, packingSlip, pickingList } from '../../orders/sheets.js';
import { inState } from '../../orders/shared.js';

const forms = {
  'packing-slip': (orders) => orders.map(packingSlip),
  invoice: (orders) => orders.map(invoice),
  'picking-list': pickingList,
};
/** What one person can carry out in a round. */
const ORDERS = 200;

export async function render({ params, query, router, signal }) {
  if (!Object.hasOwn(forms, params.form)) throw new APIError(101, '');
  const ids = (query.orders ?? '').split(',').filter(Boolean).slice(0, ORDERS);
  const where = ids.length ? { objectId: { $in: ids } } : inState('made');
  const options = { where, order: 'orderNo', limit: ORDERS, count: 1, include: 'items', signal };
  const { results, count } = await find('Order', options);
  if (ids.length && !results.length) throw new APIError(101, '');
  const refunds = await refundsOf(params.form === 'invoice' ? [] : results, signal);
  const orders = results.map((order) => packed(order, refunds.get(order.objectId) ?? []));
  const isOne = ids.length === 1;
  return [
    h(
      'a.back',
      { href: isOne ? router.href(`/orders/${results[0].objectId}`) : router.back('/orders') },
      isOne ? `← № ${results[0].orderNo ?? ''}` : `← ${t('area.orders')}`,
    ),
    h('p.actions', h('button.primary', { type: 'button', onclick: () => print() }, t('order.print'))),
    results.length ? forms[params.form](orders) : h('h1', t('today.noneToShip')),
    count > results.length ? h('p.soft', counted('sheet.more', count - results.length)) : null,
  ];
}
