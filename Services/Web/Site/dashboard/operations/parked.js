// Decisions about parked work: how much there is, and which view shows a piece.

/** The number of all pieces. @param counts numbers by service and kind. */
export function total(counts) {
  const all = Object.values(counts).flatMap((kinds) => Object.values(kinds));
  return all.reduce((sum, count) => sum + count, 0);
}

/** The view of a piece; null when there is none, or when the operator may not open it. */
export function pathOf({ kind, id, orderId }, sees) {
  if (kind === 'mail') return sees('mails') ? `/mails/${id}` : null;
  if (kind === 'push') return sees('promotions') ? '/pushes' : null;
  return orderId && sees('orders') ? `/orders/${orderId}` : null;
}
