// An order that others change while it is open.

import { h } from '../../shared/dom.js';
import { toast } from '../../shared/elements/toast.js';
import { t } from '../../shared/i18n.js';
import { listen } from '../../shared/live/live.js';
import { paced } from '../../shared/live/paced.js';

/** Whether an order or its timeline has changed. */
export function isOther(before, now) {
  const marks = ({ order, history }) =>
    [order.updatedAt, ...history.notes.map(({ objectId, updatedAt }) => `${objectId} ${updatedAt}`)].join('\n');
  return marks(before) !== marks(now);
}

/**
 * Shows changes of the order. While a form is open, a note announces the change, and the order is redrawn when the form
 * is closed.
 * @param first the shown order, as returned by `load`.
 * @param load reads the order with its history.
 * @param draw shows it.
 */
export function followOrder(first, load, draw, signal) {
  let shown = first;
  const look = paced(async () => {
    const now = await load();
    if (signal.aborted || !isOther(shown, now)) return;
    const form = document.querySelector('dialog[open]');
    if (form) return tell(form, look);
    shown = now;
    draw(now);
    toast(t('live.orderChanged', { number: now.order.orderNo ?? '' }));
  }, signal);
  const { objectId } = first.order;
  const order = { __type: 'Pointer', className: 'Order', objectId };
  listen('Order', { where: { objectId } }, look, signal);
  listen('OrderDeskNote', { where: { order } }, look, signal);
}

function tell(form, look) {
  if (form.querySelector('.changed')) return;
  form.querySelector('.content').prepend(h('p.changed', { role: 'status' }, t('live.changedByOther')));
  form.addEventListener('close', look);
}
