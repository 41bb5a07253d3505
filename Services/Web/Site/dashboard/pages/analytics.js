// Figures over any period, next to the earlier period. All come from analytics, except brands and products, which come
// from the orders.

import { h } from '../../shared/dom.js';
import { dayText, presets, range } from '../../shared/figures/range.js';
import { t } from '../../shared/i18n.js';
import { server } from '../../shared/settings.js';
import { retention } from '../analytics/retention.js';
import { sales } from '../analytics/sales.js';
import { events, funnel, requests, usage } from '../analytics/usage.js';
import { heading, stateChips } from '../lists/listing.js';

const parts = { sales, funnel, usage, retention, events, requests };

export async function render({ router, query, signal }) {
  const part = query.show in parts ? query.show : 'sales';
  const stretch = range(query);
  const compares = query.compare === 'yes';
  const go = (change) => router.go('/analytics', { ...query, ...change }, { replace: true });
  const view = { stretch, compares, signal };
  const content = await parts[part](view, query, go, router);
  const month = lastMonth();
  const isMonth = query.from === month.from && query.to === month.to;
  const choices = [
    ...presets.map((days) => [days, t('analytics.days', { n: days })]),
    ['month', t('analytics.lastMonth')],
  ];
  const choose = (days) => go(days === 'month' ? { ...month, days: '' } : { days, from: '', to: '' });
  return [
    heading(t('area.analytics'), t('analytics.note', { zone: server.timeZone })),
    h(
      'div.bar',
      stateChips(
        t('analytics.part'),
        Object.keys(parts).map((name) => [name, t(`analytics.part.${name}`)]),
        part,
        (show) => go({ show }),
      ),
    ),
    h(
      'div.bar',
      stateChips(t('analytics.range'), choices, isMonth ? 'month' : stretch.preset, choose),
      // Related controls wrap together: a button alone on a line would look like a heading of the next part.
      h(
        'div.together',
        period(stretch, go),
        h(
          'button',
          {
            type: 'button',
            'aria-pressed': String(compares),
            onclick: () => go({ compare: compares ? '' : 'yes' }),
          },
          t('analytics.compare'),
        ),
      ),
    ),
    content,
  ];
}

/** The first and the last day of the calendar month before this one. */
function lastMonth() {
  const [year, month] = dayText(new Date()).split('-').map(Number);
  const day = (...parts) => new Date(Date.UTC(...parts)).toISOString().slice(0, 10);
  return { from: day(year, month - 2, 1), to: day(year, month - 1, 0) };
}

function period(stretch, go) {
  const last = new Date(stretch.to - 1);
  const days = { from: dayText(stretch.from), to: dayText(last) };
  const input = (name) =>
    h('input', {
      type: 'date',
      name,
      value: days[name],
      'aria-label': t(`orders.${name}`),
      onchange: (event) => event.target.value && go({ ...days, [name]: event.target.value, days: '' }),
    });
  return h('div.period', input('from'), h('span', { 'aria-hidden': 'true' }, '–'), input('to'));
}
