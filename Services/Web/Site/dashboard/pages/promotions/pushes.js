// Every push, newest first: of promotions, and of other programs.

import { ask } from '../../../shared/api.js';
import { h } from '../../../shared/dom.js';
import { table } from '../../../shared/elements/table.js';
import { beginning, dateTime, number } from '../../../shared/format.js';
import { t } from '../../../shared/i18n.js';
import { counted, heading, pager, stateChips } from '../../lists/listing.js';
import { stateTag } from '../../promotions/result.js';

const PAGE = 50;
const states = ['scheduled', 'pending', 'running', 'succeeded', 'failed', 'cancelled'];

export async function render({ query, router, signal }) {
  const status = states.includes(query.status) ? query.status : '';
  const page = Math.max(1, Number.parseInt(query.page ?? '1', 10) || 1);
  const wanted = { limit: PAGE, skip: (page - 1) * PAGE, ...(status ? { status } : {}) };
  const { results, count } = await ask('pushes', wanted, signal);
  const choices = [['', t('orders.all')], ...states.map((state) => [state, t(`push.state.${state}`)])];
  const go = (change) => router.go('/pushes', change, { replace: true });
  return [
    heading(t('push.title'), counted('pushes.count', count)),
    h(
      'div.bar',
      stateChips(t('push.state'), choices, status, (chosen) => go({ status: chosen })),
    ),
    list(results, router),
    pager(page, PAGE, count, (next) => router.go('/pushes', { status, page: next })),
  ];
}

function list(pushes, router) {
  const shown = table(
    [
      { title: t('push.time'), lead: true, cell: (push) => dateTime(push.pushTime) },
      { title: t('promotion.content'), cell: (push) => named(push, router) },
      { title: t('push.state'), cell: stateTag },
      { title: t('push.count'), end: true, cell: (push) => number(push.count) },
      { title: t('push.sent'), end: true, cell: (push) => number(push.sent) },
      { title: t('push.failed'), end: true, cell: (push) => number(push.failed) },
      { title: t('push.opened'), end: true, cell: ({ opened }) => (Number.isInteger(opened) ? number(opened) : '–') },
      { title: t('push.reason'), cell: (push) => h('span.words', push.errorMessage ?? '') },
    ],
    { label: t('push.title'), id: (push) => push.pushId, empty: t('pushes.none') },
  );
  shown.rows = pushes;
  return shown;
}

/** The text of a push, with a link to its promotion. */
function named({ text, promotionId, pushId }, router) {
  const shown = beginning(text, 90) || pushId;
  return promotionId ? h('a', { href: router.href(`/promotions/${promotionId}`) }, shown) : h('span.words', shown);
}
