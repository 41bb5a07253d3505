// Charges by state, newest first.

import { ask } from '../../../shared/api.js';
import { h } from '../../../shared/dom.js';
import { table } from '../../../shared/elements/table.js';
import { dateTime, money } from '../../../shared/format.js';
import { t } from '../../../shared/i18n.js';
import { sees } from '../../shell/areas.js';
import { heading, ofAll, stateChips } from '../../lists/listing.js';

const MOST = 200;
/** The states of a charge, with their styles. */
const states = { declined: 'bad', created: 'warn', requiresAction: 'warn', abandoned: 'warn', succeeded: 'good' };

export async function render({ query, router, signal }) {
  const state = Object.hasOwn(states, query.state ?? '') ? query.state : '';
  const wanted = { limit: MOST, count: true, ...(state ? { state } : {}) };
  const { results, count } = await ask('charges', wanted, signal);
  const choices = [['', t('orders.all')], ...Object.keys(states).map((name) => [name, t(`charge.state.${name}`)])];
  const go = (chosen) => router.go('/charges', { state: chosen }, { replace: true });
  const shown = table(
    [
      { title: t('order.date'), lead: true, cell: ({ createdAt }) => dateTime(createdAt) },
      { title: t('charge.amount'), end: true, cell: ({ amount, currency }) => money(amount, currency) },
      {
        title: t('order.refunded'),
        end: true,
        cell: ({ refundedAmount, currency }) => (refundedAmount ? money(-refundedAmount, currency) : ''),
      },
      {
        title: t('order.state'),
        cell: (charge) => h(`span.tag.${states[charge.state]}`, t(`charge.state.${charge.state}`)),
      },
      { title: t('order.problem'), cell: ({ problem, failure }) => h('span.words', problem ?? failure?.message ?? '') },
      {
        title: t('charge.order'),
        cell: ({ orderId, userId }) => [
          orderId ? h('a', { href: router.href(`/orders/${orderId}`) }, t('charge.toOrder')) : '',
          userId && sees('customers')
            ? [' · ', h('a', { href: router.href(`/customers/${userId}`) }, t('order.toCustomer'))]
            : '',
        ],
      },
    ],
    { label: t('charge.title'), id: ({ operationId }) => operationId, empty: t('charge.none') },
  );
  shown.rows = results;
  return [
    heading(t('charge.title'), ofAll('charges.count', count, MOST)),
    h('div.bar', stateChips(t('order.state'), choices, state, go)),
    shown,
  ];
}
