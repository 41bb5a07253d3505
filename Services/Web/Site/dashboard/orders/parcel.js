// The content of the parcel: the pieces that were not refunded before the order was shipped.

import { moment } from '../../shared/format.js';
import { asking, together } from './history.js';

/** The refunds of each order that has some. */
export async function refundsOf(orders, signal) {
  const some = orders.filter((order) => order.refundState);
  const answers = await together(
    some.map((order) => asking('orderRefunds', { orderId: order.objectId })),
    signal,
  );
  return new Map(some.map((order, index) => [order.objectId, answers[index]?.result ?? []]));
}

/** The number of pieces by item that refunds name. */
export function refundedPieces(refunds) {
  const pieces = new Map();
  for (const { itemId, quantity } of refunds.flatMap(({ state, lines }) => (state === 'failed' ? [] : lines)))
    pieces.set(itemId, (pieces.get(itemId) ?? 0) + quantity);
  return pieces;
}

/** The pieces that are not in the parcel: refunded ones, and those in stock of a refund that the bank reversed. */
function gonePieces(refunds) {
  const gone = refundedPieces(refunds);
  const inStock = refunds.filter((refund) => refund.inStock || (refund.restock && refund.state !== 'failed'));
  // The refund after a reversed one is for the same pieces.
  for (const [item, pieces] of refundedPieces(inStock.map((refund) => ({ ...refund, state: 'done' }))))
    gone.set(item, Math.max(pieces, gone.get(item) ?? 0));
  return { gone, hasAll: refunds.some(({ inStock, lines }) => inStock && !lines.length) };
}

/** The order with the items of its parcel. A later refund, such as of returned goods, changes nothing. */
export function packed(order, refunds) {
  const shipped = order.shippedAt ? moment(order.shippedAt) : Infinity;
  const { gone, hasAll } = gonePieces(refunds.filter(({ createdAt }) => moment(createdAt) < shipped));
  if (hasAll) return { ...order, items: [] };
  const items = (order.items ?? []).map((item) =>
    gone.has(item.objectId) ? { ...item, quantity: item.quantity - gone.get(item.objectId) } : item,
  );
  return { ...order, items: items.filter((item) => item.__type !== 'Object' || item.quantity > 0) };
}
