// What the services know of an order beside the order itself. Each part is asked for in one batch, since an older
// service may not have some of them: a refusal of its own would be an error in the console of the browser.

import { APIError, auth } from '../shared/api.js';
import { batch } from '../shared/batch.js';
import { runs } from './areas.js';

/** Charges that are looked through for this order's: the newest ones. */
const CHARGES = 500;
/** As many as an order has at most. */
const NOTES = 200;
/** Codes of what is not this operator's, and of a function that an older service does not have. */
const absent = [119, 141];

/**
 * @returns `{ charge, notes, mails, pushes, mayWrite, isMine(note) }`; what is not this operator's to see is empty.
 */
export async function historyOf(order, signal) {
  const where = { order: { __type: 'Pointer', className: 'Order', objectId: order.objectId } };
  const query = new URLSearchParams({ where: JSON.stringify(where), order: 'createdAt', limit: NOTES });
  const [notes, charges, mails, pushes] = await together(
    [
      { method: 'GET', path: `/classes/OrderDeskNote?${query}` },
      order.stripePaymentId && runs('orders') ? asking('charges', { limit: CHARGES }) : null,
      order.orderNo ? asking('mails', { orderNo: order.orderNo }) : null,
      asking('orderPushes', { orderId: order.objectId }),
    ],
    signal,
  );
  const isAdmin = runs();
  return {
    charge: charges?.result.find((charge) => charge.chargeId === order.stripePaymentId) ?? null,
    notes: notes?.results ?? [],
    // A mail service of before this parameter lists everybody's.
    mails: (mails?.result ?? []).filter((mail) => mail.orderNo === order.orderNo),
    pushes: pushes?.result ?? [],
    mayWrite: runs('orders'),
    isMine: (note) => isAdmin || (!!note.author && note.author.objectId === auth.current?.user.objectId),
  };
}

function asking(name, body = {}) {
  return { method: 'POST', path: `/functions/${name}`, body };
}

/** The answers of reads, in their order; null for what is not asked or not allowed. */
async function together(requests, signal) {
  const asked = requests.filter(Boolean);
  const answers = await batch(asked, undefined, { isRead: true, signal });
  return requests.map((request) => {
    const answer = request && answers[asked.indexOf(request)];
    if (!(answer instanceof APIError)) return answer;
    if (absent.includes(answer.code)) return null;
    throw answer;
  });
}
