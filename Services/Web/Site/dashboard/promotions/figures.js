// The results of a promotion as amounts and reasons. No requests and no drawing.

import { server } from '../../shared/settings.js';

const nothing = { orders: 0, cancelled: 0, grossMinorUnits: 0, refundedMinorUnits: 0, netMinorUnits: 0 };

/**
 * The orders after a promotion and their revenue by currency, the shop's own first; zero when there is no order.
 * @returns null when analytics did not respond, which differs from no orders.
 */
export function followed(report, currency = server.currency) {
  if (!Number.isInteger(report.orders) || !Array.isArray(report.sales)) return null;
  const isOther = (one) => one.currency !== currency;
  const sales = [...report.sales].sort((one, other) => isOther(one) - isOther(other));
  if (!sales.length) sales.push({ ...nothing, currency });
  const cancelled = sales.reduce((sum, one) => sum + (one.cancelled ?? 0), 0);
  return { orders: report.orders, cancelled, sales };
}

/** Reasons with a text: Satchel's, and the ones of APNs that operators meet. */
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
 * Reasons of failed deliveries, most frequent first.
 * @returns rows of `{ id, key, code, count }`: `key` is a text's, null when there is only the provider's code.
 */
export function failures(report) {
  return (report.failures ?? []).map(({ reason, count }) => {
    if (reason === '(other)') return { id: reason, key: 'push.failure.others', code: '', count };
    return { id: reason, key: known.has(reason) ? `push.failure.${reason}` : null, code: reason, count };
  });
}
