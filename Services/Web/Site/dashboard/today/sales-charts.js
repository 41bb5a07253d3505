// Charts of the shop's days.

import { h } from '../../shared/dom.js';
import '../../shared/elements/chart.js';
import { day, money, number, shortMoney } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';

/** The sum of the days' net sales, in minor units. */
export const sum = (points) => points.reduce((all, point) => all + point.netMinorUnits, 0);

export function salesChart(points) {
  return chart('s-line-chart', points, 'netMinorUnits', {
    title: t('today.chart', { days: points.length }),
    value: (value) => money(value),
    short: (value) => shortMoney(value),
    summary: t('today.chartSummary', { total: money(sum(points)) }),
  });
}

export function ordersChart(points) {
  const all = points.reduce((count, point) => count + point.orders, 0);
  return chart('s-bar-chart', points, 'orders', {
    title: t('today.ordersChart', { days: points.length }),
    value: number,
    short: number,
    summary: t('today.chartSummary', { total: number(all) }),
  });
}

function chart(element, points, figure, options) {
  const shown = points.map((point) => ({ label: day(point.at), value: point[figure] }));
  const picture = document.createElement(element).show(shown, options);
  return h('section.card', h('header', h('h2', options.title)), picture);
}
