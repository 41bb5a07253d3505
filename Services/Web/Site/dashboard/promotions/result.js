// The results of a promotion: devices, failures with reasons, opens, and the orders that followed.

import { h } from '../../shared/dom.js';
import { table } from '../../shared/elements/table.js';
import { errorText } from '../../shared/elements/toast.js';
import { dateTime, money, number } from '../../shared/format.js';
import { hasText, t } from '../../shared/i18n.js';
import { failures, followed } from './figures.js';

const kinds = { scheduled: 'calm', pending: 'warn', running: 'warn', succeeded: 'good', failed: 'bad' };

/** @returns null before anything was sent. */
export function promotionResult(report) {
  if (report.error) return h('p.problem', { role: 'alert' }, errorText(report.error));
  if (!report.pushes.length) return null;
  return h(
    'section.stack.result',
    h('h2', t('push.title')),
    h(
      'dl.figuresRow',
      figure(t('push.count'), number(report.count)),
      figure(t('push.sent'), number(report.sent)),
      figure(t('push.failed'), number(report.failed)),
      figure(t('push.opened'), report.opened === undefined || report.opened === null ? '–' : number(report.opened)),
    ),
    orders(followed(report)),
    pushes(report.pushes),
    reasons(failures(report)),
  );
}

function figure(title, value, note) {
  return h('div.card.figure', h('dt', title), h('dd', value), note ? h('dd.note', note) : null);
}

function orders(told) {
  const figures = told
    ? [
        figure(
          t('push.orders'),
          number(told.orders),
          told.cancelled ? t('push.ordersCancelled', { n: told.cancelled, count: number(told.cancelled) }) : null,
        ),
        told.sales.map(revenue),
      ]
    : [figure(t('push.orders'), '–'), figure(t('push.revenue'), '–')];
  return [
    h('dl.figuresRow.followed', { 'aria-describedby': 'ordersNote' }, figures),
    h('p.soft.small', { id: 'ordersNote' }, t('push.ordersNote')),
  ];
}

function revenue({ currency, netMinorUnits, grossMinorUnits, refundedMinorUnits }) {
  const note = refundedMinorUnits
    ? t('push.refundedOf', { refunded: money(refundedMinorUnits, currency), gross: money(grossMinorUnits, currency) })
    : null;
  return figure(t('push.revenueIn', { currency: currency.toUpperCase() }), money(netMinorUnits, currency), note);
}

function pushes(rows) {
  const shown = table(
    [
      { title: t('push.time'), lead: true, cell: (push) => dateTime(push.pushTime) },
      { title: t('push.state'), cell: stateTag },
      { title: t('push.count'), end: true, cell: (push) => number(push.count ?? 0) },
      { title: t('push.sent'), end: true, cell: (push) => number(push.sent ?? 0) },
      { title: t('push.failed'), end: true, cell: (push) => number(push.failed ?? 0) },
      { title: t('push.reason'), cell: (push) => push.errorMessage ?? '' },
    ],
    { label: t('push.title'), id: (push) => push.pushId },
  );
  shown.rows = rows;
  return shown;
}

/** The state of a push. */
export function stateTag(push) {
  const isCancelled = push.status === 'failed' && /^Cancelled/.test(push.errorMessage ?? '');
  const key = isCancelled ? 'push.state.cancelled' : `push.state.${push.status}`;
  const kind = isCancelled ? '' : kinds[push.status];
  return h(`span.tag${kind ? `.${kind}` : ''}`, hasText(key) ? t(key) : String(push.status));
}

function reasons(rows) {
  if (!rows.length) return null;
  const shown = table(
    [
      { title: t('push.failure'), lead: true, cell: reason },
      { title: t('push.count'), end: true, cell: ({ count }) => number(count) },
    ],
    { label: t('push.failures'), id: ({ id }) => id },
  );
  shown.rows = rows;
  return [h('h3', t('push.failures')), shown];
}

/** The text of a reason, and the code for the provider's documentation. */
function reason({ key, code }) {
  return key ? h('div', t(key), ' ', code ? h('span.soft.small', code) : null) : code;
}
