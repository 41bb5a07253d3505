// What became of an order, step by step, with what operators wrote on the way.

import { h } from '../shared/dom.js';
import { dateTime, moment, money } from '../shared/format.js';
import { t } from '../shared/i18n.js';
import { noteStep } from './order-notes.js';
import { stateOf } from './orders-shared.js';

/**
 * The steps by their times. What has no time of its own is not made up.
 * @param history what `historyOf` answers.
 * @param redraw draws the view anew when a note was removed.
 */
export function timeline(order, { charge, notes, isMine }, redraw) {
  const steps = [
    [charge?.createdAt, t('timeline.charged', { amount: charge ? money(charge.amount, charge.currency) : '' })],
    [order.orderDate, t('timeline.made')],
    [order.shippedAt, t('timeline.shipped'), shipment(order)],
    [order.deliveredAt, t('timeline.delivered')],
    [order.cancelledAt, t('timeline.cancelled'), order.cancelReason, 'bad'],
    ...refunds(order, charge),
    ...notes.map((note) => noteStep(note, isMine(note) ? redraw : null)),
  ]
    .filter(([at]) => at)
    .sort((a, b) => moment(a[0]) - moment(b[0]));
  const items = steps.map(([at, title, more, kind]) =>
    h(`li.${kind ?? 'done'}`, h('strong', title), h('p.soft.small', dateTime(at)), more ? h('p.small', more) : null),
  );
  if (stateOf(order) === 'made') items.push(h('li', h('span.soft', t('timeline.toShip'))));
  if (stateOf(order) === 'shipped') items.push(h('li', h('span.soft', t('timeline.underWay'))));
  return h('ol.timeline', items);
}

function refunds(order, charge) {
  const known = (charge?.refunds ?? []).filter((one) => one.createdAt);
  if (!known.length)
    return [
      [
        order.refundedAt,
        t('timeline.refunded', { amount: money(order.refundedTotal ?? 0, order.currency) }),
        null,
        'bad',
      ],
    ];
  return known.map((one) => [
    one.createdAt,
    t('timeline.refunded', { amount: money(one.amount, charge.currency) }),
    one.state === 'succeeded' ? null : one.state,
    'bad',
  ]);
}

function shipment(order) {
  const text = [order.carrier, order.trackingNumber].filter(Boolean).join(' · ');
  if (!order.trackingUrl) return text;
  return h('a', { href: order.trackingUrl, target: '_blank', rel: 'noreferrer noopener' }, text || t('order.track'));
}
