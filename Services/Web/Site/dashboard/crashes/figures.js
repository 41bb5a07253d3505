// Crashes by day, and the share of crash-free sessions and devices, by day and version.

import { ask } from '../../shared/api.js';
import { h } from '../../shared/dom.js';
import '../../shared/elements/chart.js';
import { floor, ofOpens, rate, rates, together, WHOLE } from '../../shared/figures/crash-free.js';
import { dayText, parameters } from '../../shared/figures/range.js';
import { day, moment, number, portion } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';
import { card, ranking, trend } from '../analytics/cards.js';

const TOP = 20;
const shown = (value) => portion(value / WHOLE, 2);

/**
 * The number of reports by day.
 * @param asked the issue, or the project and version, to count.
 */
export function reportsByDay(view, asked) {
  return trend(view, {
    name: 'crash-reports',
    title: t('crash.byDay'),
    element: 's-bar-chart',
    load: async (stretch) => {
      const { points } = await ask('crashTrend', { ...asked, ...parameters(stretch) }, view.signal);
      return points.map(({ at, reports }) => ({ at, value: reports }));
    },
  });
}

/** @param asked `{ projectId, release }`, with the chosen members only. */
export function crashFigures(view, asked) {
  const answer = ask('crashFreeRate', { ...asked, ...parameters(view.stretch) }, view.signal);
  answer.catch(() => {});
  return [
    h(
      'div.halves',
      reportsByDay(view, asked),
      ['sessions', 'devices'].map((kind) => [freeByDay(view, kind, answer, asked), freeByVersion(view, kind, answer)]),
    ),
    h('p.hint.spaced', t('crashes.freeHint')),
  ];
}

function freeByDay(view, kind, answer, asked) {
  const title = t(`crashes.free.${kind}`);
  return card(view, `crash-free-${kind}`, title, async () => {
    const { points } = await answer;
    if (rates(points, kind).length) return chart(points, kind, title);
    const none = h('p.nothing', t('crashes.noSessions'));
    const opens = kind === 'sessions' && !Object.keys(asked).length ? await openings(view) : null;
    if (!opens?.some((point) => point.opens)) return { content: none };
    const estimate = chart(opens, 'opens', t('crashes.free.opens'));
    return { ...estimate, content: [none, h('p.hint', t('crashes.opensHint')), estimate.content] };
  });
}

/** App starts, used in place of sessions; null without the right to see them. */
async function openings({ stretch, signal }) {
  try {
    const [opens, reports] = await Promise.all([
      ask('analyticsSeries', { metric: 'opens', ...parameters(stretch, 'day') }, signal),
      ask('crashTrend', parameters(stretch), signal),
    ]);
    return ofOpens(opens.points, reports.points);
  } catch (error) {
    if (error.isForbidden) return null;
    throw error;
  }
}

function chart(points, kind, title) {
  const days = rates(points, kind);
  const { all, value } = together(points, kind);
  const summary = t(`crashes.of.${kind}`, { share: shown(value), n: all, count: number(all) });
  const labelled = days.map((point) => ({ ...point, label: day(point.at) }));
  const picture = document
    .createElement('s-line-chart')
    .show(labelled, { title, value: shown, short: shown, summary, least: floor(days) });
  return {
    content: [h('p.soft.sum', h('span', summary)), picture],
    titles: [t('analytics.time'), t(`crashes.${kind}`), t('crashes.withCrash'), title],
    rows: days.map(({ at, all, crashed, value }) => [dayText(moment(at)), all, crashed, value / WHOLE]),
  };
}

function freeByVersion(view, kind, answer) {
  const columns = [t('crash.release'), t(`crashes.${kind}`), t('crashes.without')];
  return ranking(view, `crash-free-${kind}-by-version`, t(`crashes.byVersion.${kind}`), columns, async () => {
    const { releases } = await answer;
    return releases
      .filter((one) => one[kind] > 0)
      .slice(0, TOP)
      .map((one) => {
        const { all, crashed } = together([one], kind);
        return { label: one.release || t('crash.noRelease'), value: all, note: shown(rate(all, crashed)) };
      });
  });
}
