// The preview of an import, row by row.

import { h } from '../../shared/dom.js';
import { price } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';
import { counted } from '../lists/listing.js';

const SHOWN = 300;

/** Rows with problems come first, then rows that change something; the rest is only counted. */
export function planTable({ unknown, plans }) {
  const bad = plans.filter((plan) => plan.problems.length);
  const good = plans.filter((plan) => plan.body);
  const same = plans.length - bad.length - good.length;
  const figures = [
    [good.filter((plan) => plan.isNew).length, 'csv.new'],
    [good.filter((plan) => !plan.isNew).length, 'csv.changed'],
    [same, 'csv.same'],
    [bad.length, 'csv.bad'],
  ].filter(([count]) => count);
  const shown = [...bad, ...good].slice(0, SHOWN);
  const more = bad.length + good.length - shown.length;
  for (const plan of good) plan.place = h('td');
  return [
    unknown.length ? h('p.problem', t('csv.unknown', { names: unknown.join(', ') })) : null,
    h('p.small', figures.length ? figures.map(([count, key]) => counted(key, count)).join(' · ') : t('csv.empty')),
    shown.length
      ? h('div.changes', { role: 'group', 'aria-label': t('bulk.preview'), tabindex: 0 }, rows(shown))
      : null,
    more ? h('p.soft.small', counted('csv.more', more)) : null,
  ];
}

function rows(plans) {
  const titles = [t('csv.line'), t('product.name'), t('csv.changes'), t('bulk.result')];
  const row = (plan) =>
    h(
      'tr',
      h('td', plan.line),
      h('th', { scope: 'row' }, plan.name, plan.isNew && plan.body ? h('span.tag.calm', t('csv.isNew')) : null),
      h('td', plan.problems.length ? plan.problems.map(problem) : plan.changes.map(change)),
      plan.place ?? h('td', h('span.problem', t('csv.leftOut'))),
    );
  return h(
    'table.lines',
    h(
      'thead',
      h(
        'tr',
        titles.map((title) => h('th', { scope: 'col' }, title)),
      ),
    ),
    h('tbody', plans.map(row)),
  );
}

function problem({ key, values }) {
  return h('p.problem', t(key, values));
}

function change({ column, before, after }) {
  const text = (value) => {
    if (value === null) return t('csv.nothingThere');
    if (typeof value === 'boolean') return t(value ? 'csv.yes' : 'csv.no');
    return column === 'unitPrice' ? price(value) : String(value).slice(0, 120);
  };
  return h('p', h('span.soft', `${t(`csv.column.${column}`)}: `), h('del', text(before)), ' → ', h('ins', text(after)));
}
