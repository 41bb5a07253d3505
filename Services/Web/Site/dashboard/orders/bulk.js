// Actions on several orders at once.

import { APIError, ask, find } from '../../shared/api.js';
import { batch } from '../../shared/batch.js';
import { h } from '../../shared/dom.js';
import { dialog } from '../../shared/elements/dialog.js';
import { errorText, failure, toast } from '../../shared/elements/toast.js';
import { t } from '../../shared/i18n.js';
import { dayText } from '../../shared/zone.js';
import { allCustomers } from '../customers/totals.js';
import { saveFile } from '../forms/save-file.js';
import { counted } from '../lists/listing.js';
import { runs } from '../shell/areas.js';
import { ordersAsCSV, readParcels } from './csv.js';
import { stateOf } from './shared.js';

const PAGE = 500;
/** The most orders of a search's page. */
const FOUND = 100;

/**
 * The bar above the list.
 * @param selected the orders with a tick.
 * @param redraw redraws the list after a change.
 * @param page `{ count, selectAll(isAll) }` of the shown page.
 */
export function bulkBar(selected, router, redraw, { count, selectAll }) {
  const orders = [...selected.values()];
  const isAll = count > 0 && count === orders.length;
  const onchange = (event) => selectAll(event.target.checked);
  const all = h('input', { type: 'checkbox', checked: isAll, disabled: !count, onchange });
  all.indeterminate = orders.length > 0 && !isAll;
  const ids = orders.map((order) => order.objectId).join(',');
  const toShip = orders.filter((order) => stateOf(order) === 'made');
  const sheet = (form) =>
    h('a.button', { href: router.href(`/orders/sheets/${form}`, { orders: ids }) }, t(`sheet.${form}`));
  const ship = () => shipMany(toShip).then((done) => done && redraw());
  return [
    h('label.check', all, h('span', t('bulk.all'))),
    h('span.soft.small', { role: 'status' }, orders.length ? counted('bulk.count', orders.length) : t('bulk.none')),
    orders.length
      ? h(
          'div.actions',
          runs('orders') && toShip.length
            ? h('button', { type: 'button', onclick: ship }, counted('ship.many', toShip.length))
            : null,
          ['packing-slip', 'invoice', 'picking-list'].map(sheet),
        )
      : null,
  ];
}

/** Ships orders, with the tracking numbers of a pasted table. Pressing the button again retries the failed ones. */
function shipMany(orders) {
  let waiting = orders;
  return dialog({
    title: counted('ship.manyTitle', orders.length),
    text: t('ship.manyText'),
    confirm: t('order.ship'),
    fields: [
      {
        name: 'parcels',
        type: 'textarea',
        rows: Math.min(12, orders.length + 2),
        label: t('ship.parcels'),
        hint: t('ship.parcelsHint'),
        value: orders.map((order) => `${order.orderNo}, , `).join('\n'),
      },
    ],
    async submit({ parcels }) {
      const bodies = readParcels(parcels, orders).filter((body) =>
        waiting.some((one) => one.objectId === body.orderId),
      );
      const answers = await batch(bodies.map((body) => ({ method: 'POST', path: '/functions/shipOrder', body })));
      const failed = bodies.filter((_, index) => answers[index] instanceof APIError);
      toast(counted('ship.manyDone', bodies.length - failed.length));
      if (!failed.length) return true;
      waiting = waiting.filter((one) => failed.some((body) => body.orderId === one.objectId));
      const first = answers.find((answer) => answer instanceof APIError);
      const numbers = waiting.map((order) => `№ ${order.orderNo}`).join(', ');
      throw new Error(t('ship.manyFailed', { numbers, problem: errorText(first) }));
    },
  });
}

/** The orders of a class's condition. Pages follow the objectId, so that a change meanwhile skips none. */
async function everyOrder(where) {
  const all = [];
  for (let last = ''; ; last = all.at(-1).objectId) {
    const rest = last ? { $and: [where, { objectId: { $gt: last } }] } : where;
    const { results } = await find('Order', { where: rest, order: 'objectId', limit: PAGE, include: 'items' });
    all.push(...results);
    if (results.length < PAGE) return all;
  }
}

/** The orders that a search finds. */
async function everyFound(wanted) {
  const all = [];
  for (;;) {
    const { results } = await ask('orders', { ...wanted, sort: 'orderNo', limit: FOUND, skip: all.length });
    const whole = (items) => items.map((item) => ({ ...item, __type: 'Object' }));
    all.push(...results.map((order) => ({ ...order, items: whole(order.items) })));
    if (results.length < FOUND) return all;
  }
}

/**
 * Saves all orders of a list to a file.
 * @param where the condition of the class.
 * @param wanted the parameters of `orders` for the same condition, with the search.
 */
export async function exportOrders(where, wanted, button) {
  button.disabled = true;
  try {
    const all = wanted.search ? await everyFound(wanted) : await everyOrder(where);
    const emails = await emailsOf(all);
    for (const order of all) order.email ??= emails.get(order.customer?.objectId);
    all.sort((a, b) => (a.orderNo ?? 0) - (b.orderNo ?? 0));
    saveFile(`orders-${dayText(new Date())}.csv`, 'text/csv', ordersAsCSV(all));
    toast(counted('orders.exported', all.length));
  } catch (error) {
    failure(error);
  } finally {
    button.disabled = false;
  }
}

/** The addresses of customers' accounts. Orders have one only when the app sent it. */
async function emailsOf(orders) {
  if (orders.every(({ email }) => email)) return new Map();
  const customers = await allCustomers({});
  return new Map(customers.map(({ customerId, email }) => [customerId, email]));
}
