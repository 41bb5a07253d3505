// Retention: devices and users by the week or day of their first visit, and how many of them returned in each later
// one.

import { ask } from '../../shared/api.js';
import { h } from '../../shared/dom.js';
import '../../shared/elements/heat-map.js';
import { averages, hasOldOnes, LATER, limited, shares } from '../../shared/figures/cohorts.js';
import { dayText, parameters } from '../../shared/figures/range.js';
import { day, moment } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';
import { stateChips } from '../lists/listing.js';
import { card } from './cards.js';

export function retention(view, query, go) {
  const interval = query.by === 'day' ? 'day' : 'week';
  const stretch = limited(view.stretch, interval);
  const by = ['week', 'day'].map((name) => [name, t(`analytics.cohort.${name}`)]);
  return [
    h(
      'div.bar',
      stateChips(t('analytics.cohorts'), by, interval, (next) => go({ by: next })),
    ),
    h('p.hint.spaced', t('analytics.cohortHint')),
    h(
      'div.stack',
      ['installations', 'users'].map((kind) =>
        cohorts({ ...view, stretch: { ...view.stretch, ...stretch } }, kind, interval),
      ),
    ),
  ];
}

function cohorts(view, kind, interval) {
  const { signal, stretch } = view;
  const title = t(`analytics.returning.${kind}`);
  return card(view, `returning-${kind}-by-${interval}`, title, async () => {
    const periods = LATER[interval];
    const asked = { kind, interval, periods, ...parameters(stretch) };
    const answer = await ask('analyticsRetention', asked, signal);
    const rows = shares(answer);
    if (!rows.length) return { content: h('p.nothing', t('analytics.nothing')) };
    const columns = Array.from({ length: periods }, (_, index) => t(`analytics.after.${interval}`, { n: index + 1 }));
    const corner = t(`analytics.cohort.${interval}`);
    const size = t('analytics.cohortSize');
    const shown = rows.map((row) => ({
      ...row,
      label: day(row.at),
      note: hasOldOnes(answer, row) ? t('analytics.cohortOld') : '',
    }));
    const map = document.createElement('s-heat-map').show(shown, {
      title,
      corner,
      size,
      columns,
      open: t('analytics.soFar'),
      averages: { label: t('analytics.averageShare'), cells: averages(rows) },
    });
    return {
      content: [map, answer.complete ? null : h('p.hint', t('analytics.cohortFull'))],
      titles: [corner, size, ...columns],
      rows: rows.map(({ at, size, cells }) => [dayText(moment(at)), size, ...cells.map(({ count }) => count)]),
    };
  });
}
