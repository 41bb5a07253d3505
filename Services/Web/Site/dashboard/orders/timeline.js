// The history of an order, step by step, with the operators' notes.

import { h } from '../../shared/dom.js';
import { dateTime, moment, money } from '../../shared/format.js';
import { hasText, t } from '../../shared/i18n.js';
import { sees } from '../shell/areas.js';
import { noteStep } from './notes.js';
import { stateOf } from './shared.js';

/**
 * The steps by time. A step without a recorded time gets none.
 * @param history the result of `historyOf`.
 * @param redraw redraws the view after a note was removed.
 */
export function timeline(order, { charge, notes, mails, pushes, refunds, isMine }, redraw, router) {
  const steps = [
    [charge?.createdAt, t('timeline.charged', { amount: charge ? money(charge.amount, charge.currency) : '' })],
    [order.orderDate, t('timeline.made')],
    [order.shippedAt, t('timeline.shipped'), parcel(order.trackingCorrections?.find(Boolean) ?? order)],
    ...trackingSteps(order),
    [order.deliveredAt, t('timeline.delivered')],
    [order.cancelledAt, t('timeline.cancelled'), order.cancelReason, 'bad'],
    ...refundSteps(order, refunds),
    ...mails.map((mail) => mailStep(mail, router)),
    ...pushes.map(pushStep),
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

/** Each refund with its pieces, the reason and the operator. Releases before these records knew only the last time. */
export function refundSteps(order, refunds) {
  if (!refunds.length) {
    const amount = money(order.refundedTotal ?? 0, order.currency);
    return [[order.refundedAt, t('timeline.refunded', { amount }), null, 'bad']];
  }
  return refunds.map((one) => {
    const pieces = one.lines.map(({ name, quantity }) => `${quantity} × ${name ?? t('order.product')}`);
    const more = [
      one.state === 'done' ? null : t(`refund.state.${one.state}`),
      pieces.join(', '),
      one.restock ? t('refund.restocked') : null,
      one.reason,
      one.problem,
      one.madeBy ? t('refund.by', { name: one.madeBy }) : null,
    ];
    const amount = money(one.amount, order.currency);
    return [one.createdAt, t('timeline.refunded', { amount }), more.filter(Boolean).join(' · ') || null, 'bad'];
  });
}

/** Each correction of the tracking, with the earlier shipment and the one that replaced it. */
export function trackingSteps(order) {
  const earlier = (order.trackingCorrections ?? []).filter(Boolean);
  return earlier.map((was, index) => {
    const now = earlier[index + 1] ?? order;
    return [was.until, t('timeline.tracking'), [wordsOf(was) || '–', ' → ', parcel(now) || '–']];
  });
}

const wordsOf = ({ carrier, trackingNumber }) => [carrier, trackingNumber].filter(Boolean).join(' · ');

function parcel(shipment) {
  const { trackingUrl } = shipment;
  const text = wordsOf(shipment);
  if (!trackingUrl) return text;
  return h('a', { href: trackingUrl, target: '_blank', rel: 'noreferrer noopener' }, text || t('order.track'));
}

/** A mail at the time it was sent; an unsent one at the time it was queued. */
export function mailStep({ id, template, state, to, queuedAt, sentAt, problem }, router) {
  const what = `mail.${template}`;
  const how = state === 'sent' ? to : [to, word(`mail.state.${state}`, state), problem].filter(Boolean).join(' · ');
  const kind = ['failed', 'bounced', 'suppressed', 'held'].includes(state) ? 'told.bad' : 'told';
  const title = t('timeline.mail', { what: word(what, template) });
  const link =
    router && id !== undefined && sees('mails') ? h('a', { href: router.href(`/mails/${id}`) }, title) : title;
  return [sentAt ?? queuedAt, link, how, kind];
}

/** A push notification by its event. The number of devices is known, but not whether a customer saw it. */
export function pushStep({ news, madeAt, devices }) {
  const what = word(`push.${news}`, news);
  const to = devices === undefined ? null : t('timeline.devices', { n: devices, count: devices });
  return [madeAt, t('timeline.push', { what }), to, 'told'];
}

/** Satchel's text, or the service's own word when there is none. */
function word(key, other) {
  return hasText(key) ? t(key) : String(other ?? '');
}
