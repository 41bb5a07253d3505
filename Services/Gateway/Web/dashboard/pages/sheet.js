// The packing slip or the invoice of one order.

import { APIError, get } from '../../shared/api.js';
import { invoice, packingSlip, printable } from '../orders/sheets.js';

const sheets = { 'packing-slip': packingSlip, invoice };

export async function render({ params, router, signal }) {
  if (!Object.hasOwn(sheets, params.form)) throw new APIError(101, '');
  const order = await get('Order', params.id, { include: 'items', signal });
  const href = router.href(`/orders/${order.objectId}`);
  return printable(href, `№ ${order.orderNo ?? ''}`, sheets[params.form](order));
}
