// The history on the operations page: a chart for each figure.

import { call } from '../../shared/api.js';
import { fill, h } from '../../shared/dom.js';
import '../../shared/elements/chart.js';
import { errorText } from '../../shared/elements/toast.js';
import { day, hour, number } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';
import { stateChips } from '../lists/listing.js';
import { charts, periods, pointsOf } from './past.js';
import { every } from './shared.js';

/** Between two looks for the first figures, which a new shop has after some seconds. */
const PAUSE = 5000;

/** A section that loads its figures by itself, so that the page need not wait for analytics. */
export function pastCharts(signal) {
  const place = h('div');
  let shown = null;
  let isEmpty = false;
  const draw = async (period) => {
    const content = await load(period, signal);
    // Ignores a response that another choice has overtaken.
    if (shown !== period || signal.aborted) return;
    isEmpty = content === null;
    fill(place, content ?? h('p.nothing', t('ops.past.nothing')));
  };
  const show = (period) => {
    shown = period;
    for (const [index, button] of [...chips.children].entries())
      button.setAttribute('aria-pressed', String(periods[index] === period));
    fill(place, h('div.bones', { role: 'status', 'aria-label': t('shell.loading') }));
    return draw(period);
  };
  const choices = periods.map((period) => [period, t(`ops.past.${period.name}`)]);
  const chips = stateChips(t('ops.past.period'), choices, periods[0], show);
  show(periods[0]);
  every(PAUSE, signal, async () => {
    if (isEmpty && !document.hidden) await draw(shown);
  });
  return h('section', { 'aria-label': t('ops.past') }, h('div.bar', h('h2', t('ops.past')), chips), place);
}

/** The charts, or why there are none; null while there are no figures. */
async function load(period, signal) {
  try {
    const answer = await call('GET', '/operations/history', { query: period.query, signal });
    if (!answer.points.length) return null;
    const times = pointsOf(charts[0], answer).map(({ at }) => ({
      label: `${day(at)}, ${hour(at)}`,
      tick: answer.step < 3600 ? hour(at) : day(at),
    }));
    const cards = charts.map((chart) => card(chart, answer, times));
    return h('div.halves', cards);
  } catch (error) {
    return h('p.card.problem', { role: 'alert' }, errorText(error));
  }
}

function card(chart, answer, times) {
  const title = t(`ops.${chart.name}`);
  const points = pointsOf(chart, answer).map(({ value }, index) => ({ value, ...times[index] }));
  const text = (value) => written[chart.kind ?? 'whole'](value);
  const most = text(Math.max(...points.map(({ value }) => value)));
  const summary = t('ops.past.summary', { last: text(points.at(-1).value), most });
  const picture = document.createElement('s-line-chart').show(points, { title, value: text, short: number, summary });
  return h('section.card', { 'data-figure': chart.name }, h('header', h('h3', title)), picture);
}

const rounded = (value) => number(Math.round(value * 10) / 10);

const written = {
  whole: number,
  decimal: rounded,
  time: (value) => t('ops.milliseconds', { n: rounded(value) }),
  seconds: (value) => t('ops.past.seconds', { n: number(value) }),
  megabytes: (value) => t('ops.megabytes', { n: number(Math.round(value)) }),
};
