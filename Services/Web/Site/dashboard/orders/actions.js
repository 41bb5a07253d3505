// An operator's actions on an order. Each is one idempotent function of the server.

import { newKey, run } from '../../shared/api.js';
import { h } from '../../shared/dom.js';
import { dialog, field } from '../../shared/elements/dialog.js';
import { toast } from '../../shared/elements/toast.js';
import { editableMoney, money, moneyKeys, parseMoney } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';
import { fieldError } from '../../shared/problems.js';
import { refundedPieces } from './parcel.js';
import { left } from './shared.js';

const REASON = { name: 'reason', type: 'textarea', maxlength: 400 };

function filled(values) {
  return Object.fromEntries(
    Object.entries(values)
      .map(([name, text]) => [name, text.trim()])
      .filter(([, text]) => text),
  );
}

const parcelFields = ({ carrier, trackingNumber, trackingUrl }) => [
  { name: 'carrier', label: t('ship.carrier'), maxlength: 60, value: carrier },
  { name: 'trackingNumber', label: t('ship.number'), maxlength: 60, value: trackingNumber },
  { name: 'trackingUrl', label: t('ship.url'), type: 'url', placeholder: 'https://', value: trackingUrl },
];

export function ship(order) {
  return dialog({
    title: t('ship.title', { number: order.orderNo }),
    text: t('ship.text'),
    confirm: t('order.ship'),
    fields: parcelFields({}),
    async submit(values) {
      await run('shipOrder', { orderId: order.objectId, ...filled(values) });
      toast(t('ship.done', { number: order.orderNo }));
    },
  });
}

export function correctTracking(order) {
  return dialog({
    title: t('tracking.title', { number: order.orderNo }),
    text: t('tracking.text'),
    confirm: t('order.tracking'),
    fields: parcelFields(order),
    async submit(values) {
      await run('correctTracking', { orderId: order.objectId, ...filled(values) });
      toast(t('tracking.done', { number: order.orderNo }));
    },
  });
}

export function deliver(order) {
  return dialog({
    title: t('deliver.title', { number: order.orderNo }),
    text: t('deliver.text'),
    confirm: t('order.deliver'),
    async submit() {
      await run('deliverOrder', { orderId: order.objectId });
      toast(t('deliver.done', { number: order.orderNo }));
    },
  });
}

export function cancel(order) {
  return dialog({
    title: t('cancel.title', { number: order.orderNo }),
    isDanger: true,
    confirm: t('order.cancel'),
    cancel: t('cancel.keep'),
    text: t('cancel.text', { amount: money(left(order), order.currency) }),
    fields: [{ ...REASON, label: t('reason.mailed') }],
    async submit(values) {
      await run('cancelOrder', { orderId: order.objectId, ...filled(values) }, newKey());
      toast(t('cancel.done', { number: order.orderNo }));
    },
  });
}

/** A refund has an idempotency key, so that a second press or a lost response never refunds twice. */
export function refund(order, history) {
  const lines = refundable(order, history.refunds);
  const key = newKey();
  return dialog({
    title: t('refund.title', { number: order.orderNo }),
    isDanger: true,
    confirm: t('order.refund'),
    text: t('refund.text', { amount: money(left(order), order.currency) }),
    content: lines.length ? pieceFields(lines, order) : null,
    fields: [
      {
        name: 'amount',
        label: t('refund.amount'),
        required: true,
        inputmode: moneyKeys(order.currency),
        value: editableMoney(left(order), order.currency),
      },
      { ...REASON, label: t('reason.mailed') },
      // A cancellation has returned the goods.
      ...(order.cancelledAt ? [] : [{ name: 'restock', type: 'checkbox', label: t('refund.restock') }]),
    ],
    async submit({ amount, reason, restock, ...values }) {
      const pieces = lines
        .map(({ itemId }) => ({ itemId, quantity: Number(values[`pieces.${itemId}`]) || 0 }))
        .filter(({ quantity }) => quantity > 0);
      const wanted = parseMoney(amount, order.currency);
      if (!(wanted >= 1 && wanted <= left(order)))
        throw fieldError('amount', t('refund.range', { amount: money(left(order), order.currency) }));
      const wish = {
        orderId: order.objectId,
        amount: wanted,
        restock: restock === 'on',
        ...(pieces.length ? { lines: pieces } : {}),
        idempotencyKey: `dashboard:${key}`,
        ...filled({ reason }),
      };
      const answer = await run('refundOrder', wish, newKey());
      toast(
        answer.refundState === 'pending'
          ? t('refund.pending')
          : t('refund.done', { amount: money(wanted, order.currency) }),
      );
    },
  });
}

/** The lines of an order with the pieces that no refund names yet. */
export function refundable(order, refunds) {
  const refunded = refundedPieces(refunds);
  return (order.items ?? [])
    .filter((item) => item.__type === 'Object' && item.unitPriceMinorUnits !== undefined)
    .map((item) => ({
      itemId: item.objectId,
      name: item.name ?? t('order.product'),
      most: item.quantity - (refunded.get(item.objectId) ?? 0),
      price: priceOf(item, refunded.get(item.objectId) ?? 0),
    }))
    .filter(({ most }) => most > 0);
}

/** The amount paid for the next pieces of a line, as the server computes it. */
function priceOf({ quantity, unitPriceMinorUnits, discountMinorUnits = 0 }, before) {
  const first = (pieces) => Math.floor(((unitPriceMinorUnits * quantity - discountMinorUnits) * pieces) / quantity);
  return (pieces) => first(before + pieces) - first(before);
}

/** A number for each line. A change sets the amount to the price of all chosen pieces. */
function pieceFields(lines, order) {
  const change = (event) => {
    const { elements } = event.target.form;
    const price = lines.reduce(
      (sum, { itemId, price }) => sum + price(Number(elements[`pieces.${itemId}`].value) || 0),
      0,
    );
    elements.amount.value = editableMoney(Math.min(price || left(order), left(order)), order.currency);
  };
  return h(
    'fieldset.stack',
    h('legend', t('refund.pieces')),
    h('p.hint', t('refund.piecesHint')),
    lines.map(({ itemId, name, most }) =>
      field({
        name: `pieces.${itemId}`,
        type: 'number',
        label: t('refund.piecesOf', { name, most }),
        min: 0,
        max: most,
        value: 0,
        required: true,
        oninput: change,
      }),
    ),
  );
}
