// What became of a promotion, in amounts and reasons. Asks nobody and draws nothing.

import { server } from '../shared/settings.js';

const nothing = { orders: 0, cancelled: 0, grossMinorUnits: 0, refundedMinorUnits: 0, netMinorUnits: 0 };

/**
 * The orders that followed and their revenue by currency, the shop's own first; an amount of nothing where nobody has
 * ordered.
 * @returns null where analytics could not be asked: that is not the same as no order.
 */
export function followed(report, currency = server.currency) {
  if (!Number.isInteger(report.orders) || !Array.isArray(report.sales)) return null;
  const isOther = (one) => one.currency !== currency;
  const sales = [...report.sales].sort((one, other) => isOther(one) - isOther(other));
  if (!sales.length) sales.push({ ...nothing, currency });
  const cancelled = sales.reduce((sum, one) => sum + (one.cancelled ?? 0), 0);
  return { orders: report.orders, cancelled, sales };
}

/** Reasons that have words of their own: ours, and those of APNs that an operator meets. */
const known = new Set([
  'BadDeviceToken',
  'Cancelled',
  'DeviceTokenNotForTopic',
  'Expired',
  'NoProviderForDeviceType',
  'NoTopic',
  'Unregistered',
]);

/**
 * Why deliveries failed, the most frequent first.
 * @returns rows of `{ id, key, code, count }`: `key` is of the words, null where there is only the provider's code.
 */
export function failures(report) {
  return (report.failures ?? []).map(({ reason, count }) => {
    if (reason === '(other)') return { id: reason, key: 'push.failure.others', code: '', count };
    return { id: reason, key: known.has(reason) ? `push.failure.${reason}` : null, code: reason, count };
  });
}
