// The picking list of the orders to ship, oldest first.

import { find } from '../../shared/api.js';
import { h } from '../../shared/dom.js';
import { t } from '../../shared/i18n.js';
import { counted } from '../lists/listing.js';
import { pickingList, printable } from '../orders/sheets.js';
import { inState } from '../orders/shared.js';

/** What one person can carry out in a round. */
const ORDERS = 200;

export async function render({ router, signal }) {
  const options = { where: inState('made'), order: 'orderNo', limit: ORDERS, count: 1, include: 'items', signal };
  const { results, count } = await find('Order', options);
  const href = router.href('/orders', { state: 'made' });
  return [
    printable(href, t('area.orders'), pickingList(results)),
    count > results.length ? h('p.soft', counted('sheet.more', count - results.length)) : null,
  ];
}
