// The services' data about an order besides the order itself. All parts are requested in one batch: an older service
// may refuse some, and the browser's console would log a refused single request as an error.

import { APIError, auth } from '../../shared/api.js';
import { batch } from '../../shared/batch.js';
import { runs } from '../shell/areas.js';

/** The newest charges, among which this order's is searched. */
const CHARGES = 500;
/** The limit of notes per order. */
const NOTES = 200;
/** Codes for a missing right, and for a function that an older service lacks. */
const absent = [119, 141];

/**
 * @returns `{ charge, notes, mails, pushes, refunds, mayWrite, isMine(note) }`; parts that the operator may not see are empty.
 */
export async function historyOf(order, signal) {
  const where = { order: { __type: 'Pointer', className: 'Order', objectId: order.objectId } };
  const query = new URLSearchParams({ where: JSON.stringify(where), order: 'createdAt', limit: NOTES });
  const [notes, charges, mails, pushes, refunds] = await together(
    [
      { method: 'GET', path: `/classes/OrderDeskNote?${query}` },
      order.stripePaymentId && runs('orders') ? asking('charges', { limit: CHARGES }) : null,
      order.orderNo ? asking('mails', { orderNo: order.orderNo }) : null,
      asking('orderPushes', { orderId: order.objectId }),
      asking('orderRefunds', { orderId: order.objectId }),
    ],
    signal,
  );
  const isAdmin = runs();
  return {
    charge: charges?.result.find((charge) => charge.chargeId === order.stripePaymentId) ?? null,
    notes: notes?.results ?? [],
    // An older mail service ignores the parameter and lists the mails of all orders.
    mails: (mails?.result ?? []).filter((mail) => mail.orderNo === order.orderNo),
    pushes: pushes?.result ?? [],
    refunds: refunds?.result ?? [],
    mayWrite: runs('orders'),
    isMine: (note) => isAdmin || (!!note.author && note.author.objectId === auth.current?.user.objectId),
  };
}

export function asking(name, body = {}) {
  return { method: 'POST', path: `/functions/${name}`, body };
}

/** The responses of reads in order; null for a read that is not sent or not allowed. */
export async function together(requests, signal) {
  const asked = requests.filter(Boolean);
  const answers = await batch(asked, undefined, { isRead: true, signal });
  return requests.map((request) => {
    const answer = request && answers[asked.indexOf(request)];
    if (!(answer instanceof APIError)) return answer;
    if (absent.includes(answer.code)) return null;
    throw answer;
  });
}
