// One order: its items, delivery address, history and actions.

import { get, run } from '../../../shared/api.js';
import { fill, h } from '../../../shared/dom.js';
import { dateTime, money, number } from '../../../shared/format.js';
import { t } from '../../../shared/i18n.js';
import { mailButton } from '../../customers/mail.js';
import { heading } from '../../lists/listing.js';
import { refill } from '../../live/keep-focus.js';
import { followOrder } from '../../live/order.js';
import { cancel, correctTracking, deliver, refund, ship } from '../../orders/actions.js';
import { historyOf } from '../../orders/history.js';
import { noteForm } from '../../orders/notes.js';
import { refundedPieces } from '../../orders/parcel.js';
import { contactOf, isPlaced, left, nameOf, stateOf, stateTag, townOf } from '../../orders/shared.js';
import { timeline } from '../../orders/timeline.js';
import { runs, sees } from '../../shell/areas.js';

export async function render({ params, router, signal, redraw }) {
  const load = async () => {
    const order = await get('Order', params.id, { include: 'items', signal });
    const [contact, history] = await Promise.all([contactOf(order, signal), historyOf(order, signal)]);
    return { order, contact, history };
  };
  const first = await load();
  if (!isPlaced(first.order)) return bag(first, router);
  const [state, doings] = [h('span'), h('div.actions')];
  const [bought, steps, aside] = [h('div'), h('div.steps'), h('div.stack')];
  const draw = ({ order, contact, history }) => {
    fill(state, stateTag(order));
    refill(doings, actions(order, history, router, redraw));
    fill(bought, lines(order, history.refunds, router));
    refill(steps, timeline(order, history, redraw, router));
    refill(aside, people(order, contact, router), money_(order, history.charge), wishes(order));
  };
  draw(first);
  followOrder(first, load, draw, signal);
  const { order, history } = first;
  const add = (text) => run('addOrderNote', { orderId: order.objectId, text });
  return [
    h('a.back', { href: router.back('/orders') }, `← ${t('area.orders')}`),
    heading(`№ ${order.orderNo ?? ''}`, [dateTime(order.orderDate), ' ', state], doings),
    h(
      'div.columns',
      h(
        'div.stack',
        bought,
        h(
          'section.card',
          h('header', h('h2', t('order.timeline'))),
          steps,
          history.mayWrite ? noteForm(`note ${order.objectId}`, add, redraw) : null,
        ),
      ),
      aside,
    ),
  ];
}

/** An open bag: a declined payment names it. There is nothing to ship or refund yet. */
function bag({ order }, router) {
  const customer = sees('customers') && order.customer?.objectId;
  return [
    h('a.back', { href: router.back('/orders') }, `← ${t('area.orders')}`),
    heading(t('order.bag'), t('order.bagText')),
    customer ? h('p', h('a', { href: router.href(`/customers/${customer}`) }, t('order.toCustomer'))) : null,
  ];
}

function actions(order, history, router, redraw) {
  const state = stateOf(order);
  const goods = order.fulfillmentStatus ?? (['shipped', 'delivered'].includes(state) ? state : 'unfulfilled');
  const sheets = [
    mailButton({ orderId: order.objectId }, t('customerMail.about', { number: order.orderNo ?? '' }), redraw),
    ...(state === 'cancelled' ? ['invoice'] : ['packing-slip', 'invoice']).map((form) =>
      h('a.button', { href: router.href(`/orders/sheets/${form}`, { orders: order.objectId }) }, t(`sheet.${form}`)),
    ),
  ];
  // Support may read orders and write to customers; only the order desk may act on orders.
  if (!runs('orders') || order.refundState === 'pending') return sheets;
  const button = (kind, key, work) =>
    h(
      `button${kind}`,
      { type: 'button', onclick: () => work(order, history).then((done) => done && redraw()) },
      t(key),
    );
  return [
    state === 'made' && button('.primary', 'order.ship', ship),
    goods === 'shipped' && button('.primary', 'order.deliver', deliver),
    goods === 'shipped' && state !== 'cancelled' && button('', 'order.tracking', correctTracking),
    (state !== 'cancelled' || order.refundState) && left(order) > 0 && button('', 'order.refund', refund),
    state !== 'cancelled' && goods === 'unfulfilled' && button('.danger', 'order.cancel', cancel),
    sheets,
  ];
}

function lines(order, refunds, router) {
  const refunded = refundedPieces(refunds);
  const link = ({ name, product }) =>
    sees('products') && product?.objectId ? h('a', { href: router.href(`/products/${product.objectId}`) }, name) : name;
  const rows = (order.items ?? [])
    .filter((item) => item.__type === 'Object')
    .map((item) =>
      h(
        'tr',
        h('th', { scope: 'row' }, link({ ...item, name: item.name ?? t('order.product') })),
        h(
          'td.end',
          number(item.quantity),
          refunded.has(item.objectId)
            ? h('span.soft.small', ` (${t('order.piecesRefunded', { count: number(refunded.get(item.objectId)) })})`)
            : null,
        ),
        h('td.end', item.unitPriceMinorUnits === undefined ? '' : money(item.unitPriceMinorUnits, order.currency)),
        h(
          'td.end',
          item.unitPriceMinorUnits === undefined ? '' : money(item.unitPriceMinorUnits * item.quantity, order.currency),
        ),
      ),
    );
  return h(
    'section.card',
    h('header', h('h2', t('order.items'))),
    h(
      'table.lines',
      h(
        'thead',
        h(
          'tr',
          h('th', { scope: 'col' }, t('order.product')),
          [t('order.pieces'), t('order.each'), t('order.sum')].map((title) => h('th.end', { scope: 'col' }, title)),
        ),
      ),
      h('tbody', rows),
    ),
  );
}

function people(order, contact, router) {
  const address = order.shippingAddress ?? {};
  const { address1, address2, phone } = address;
  const text = [nameOf(order), address1, address2, townOf(address), phone].filter(Boolean).join('\n');
  const email = contact?.email ?? order.email;
  const customer = order.customer?.objectId;
  return h(
    'section.card',
    h(
      'header',
      h('h2', t('order.shipTo')),
      customer ? h('a', { href: router.href(`/customers/${customer}`) }, t('order.toCustomer')) : null,
    ),
    h('address.address', text),
    email ? h('p.small', h('a', { href: `mailto:${email}` }, email)) : null,
  );
}

function money_(order, charge) {
  const row = (title, value, kind = '') => h(`div${kind}`, h('dt', title), h('dd', value));
  return h(
    'section.card',
    h('header', h('h2', t('order.money'))),
    h(
      'dl.facts',
      order.discountMinorUnits
        ? [
            row(t('order.subtotal'), money(order.total + order.discountMinorUnits, order.currency)),
            row(t('order.discount', { code: order.discountCode }), money(-order.discountMinorUnits, order.currency)),
          ]
        : null,
      row(t('order.total'), money(order.total ?? 0, order.currency), order.refundedTotal ? '' : '.sum'),
      order.refundedTotal ? row(t('order.refunded'), money(-order.refundedTotal, order.currency)) : null,
      order.refundedTotal ? row(t('order.left'), money(left(order), order.currency), '.sum') : null,
      order.stripePaymentId ? row(t('order.charge'), order.stripePaymentId) : null,
      charge?.problem ? row(t('order.problem'), charge.problem) : null,
    ),
  );
}

/** The customer's requests. */
function wishes(order) {
  const parts = [
    [t('order.note'), order.note],
    [t('order.giftMessage'), order.giftMessage],
  ].filter(([, text]) => text);
  if (!parts.length) return null;
  return h(
    'section.card',
    parts.map(([title, text]) => [h('h3', title), h('p.address', text)]),
  );
}
