// One order that others change while it is open.

import { h } from '../../shared/dom.js';
import { toast } from '../../shared/elements/toast.js';
import { t } from '../../shared/i18n.js';
import { listen } from '../../shared/live/live.js';
import { paced } from '../../shared/live/paced.js';

/** Whether an order or what stands in its timeline is other than it was. */
export function isOther(before, now) {
  const marks = ({ order, history }) =>
    [order.updatedAt, ...history.notes.map(({ objectId, updatedAt }) => `${objectId} ${updatedAt}`)].join('\n');
  return marks(before) !== marks(now);
}

/**
 * Shows the order as it becomes. Where a form is open, that it was changed is said there, and it is shown when the form
 * is closed.
 * @param first what is shown, as `load` answers it.
 * @param load the order with its history.
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
