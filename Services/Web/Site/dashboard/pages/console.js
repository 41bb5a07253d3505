// The console: a query in JSON, its rows, their count, the time it took and the database's plan.

import { find } from '../../shared/api.js';
import { stepsOf, verdict } from '../../shared/browser/plan.js';
import { isClassName } from '../../shared/browser/schema.js';
import { columnsOf, fixed, shown } from '../../shared/browser/types.js';
import { fill, freshId, h } from '../../shared/dom.js';
import { field } from '../../shared/elements/dialog.js';
import { table } from '../../shared/elements/table.js';
import { errorText } from '../../shared/elements/toast.js';
import { number } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';
import { rounds } from '../../shared/waiting.js';
import { runs } from '../shell/areas.js';
import { schemas } from '../browser/schemas.js';
import { stateChips, heading } from '../lists/listing.js';

const options = ['order', 'keys', 'limit', 'include'];
const LIMIT = 1000;

export async function render({ query, router, signal }) {
  const all = await schemas();
  const names = freshId('classes');
  const begin = rounds();
  const answer = h('section.spaced', { 'aria-live': 'polite' });
  const problem = h('p.problem', { role: 'alert' });
  const form = h(
    'form.card.stack',
    { onsubmit },
    h(
      'datalist',
      { id: names },
      [...(all?.keys() ?? [])].map((name) => h('option', { value: name })),
    ),
    fields(query),
    problem,
    h(
      'p.actions',
      h('button.primary', { type: 'submit', value: 'rows' }, t('console.run')),
      h('button', { type: 'submit', value: 'count' }, t('console.count')),
      runs('developers') ? h('button', { type: 'submit', value: 'plan' }, t('console.explain')) : null,
    ),
  );
  form.elements.className.setAttribute('list', names);

  function onsubmit(event) {
    event.preventDefault();
    run(event.submitter?.value);
  }
  async function run(what = 'rows') {
    const isLast = begin();
    const values = Object.fromEntries(new FormData(form));
    fill(problem);
    fill(answer);
    try {
      const wanted = asked(values);
      history.replaceState(null, '', router.href('/data/console', values));
      const start = performance.now();
      const found = await find(values.className.trim(), { ...wanted, ...extra[what], signal });
      if (isLast()) fill(answer, took(performance.now() - start), views[what](found));
    } catch (error) {
      if (isLast() && !signal.aborted) fill(problem, errorText(error));
    }
  }
  return [
    h('a.back', { href: router.href('/data') }, t('data.classes')),
    heading(t('console.title'), t('console.note')),
    form,
    answer,
  ];
}

const extra = { rows: {}, count: { limit: 0, count: 1 }, plan: { explain: true } };

function fields(query) {
  const where = { name: 'where', type: 'textarea', rows: 5, label: t('console.where'), value: query.where ?? '{}' };
  return [
    field({ name: 'className', label: t('pointer.class'), required: true, value: query.className ?? '' }),
    field({ ...where, hint: t('console.whereHint') }),
    h(
      'div.builder',
      field({ name: 'order', label: t('console.order'), value: query.order, placeholder: t('console.orderHint') }),
      field({ name: 'keys', label: t('console.keys'), value: query.keys }),
      field({ name: 'include', label: t('console.include'), value: query.include }),
      field({ name: 'limit', label: t('console.limit'), value: query.limit ?? '100', inputmode: 'numeric' }),
    ),
  ];
}

/** The options of a query. @throws a translated error for invalid input. */
function asked(values) {
  if (!isClassName(values.className.trim())) throw new Error(t('schema.badName'));
  let where;
  try {
    where = JSON.parse(values.where.trim() || '{}');
  } catch (error) {
    throw new Error(t('console.badWhere', { problem: error.message }));
  }
  if (where === null || typeof where !== 'object' || Array.isArray(where)) throw new Error(t('data.badObject'));
  const given = options.map((name) => [name, values[name].replace(/\s/g, '')]).filter(([, text]) => text !== '');
  const wanted = Object.fromEntries(given);
  if (wanted.limit !== undefined && !(/^\d+$/.test(wanted.limit) && Number(wanted.limit) <= LIMIT)) {
    throw new Error(t('console.badLimit', { n: number(LIMIT) }));
  }
  return { where, ...wanted };
}

function took(milliseconds) {
  return h('p.sum', h('span', t('console.took', { n: number(Math.round(milliseconds)) })));
}

const views = {
  count: ({ count }) => h('p.card', t('data.rows', { n: count, count: number(count) })),
  plan: ({ results }) => plan(results),
  rows: ({ results }) => rows(results),
};

function rows(results) {
  const place = h('div');
  const draw = (view) => {
    const chips = stateChips(
      t('console.view'),
      [
        ['table', t('console.table')],
        ['json', t('console.json')],
      ],
      view,
      draw,
    );
    const json = () => h('pre.card.json', { tabindex: 0 }, JSON.stringify(results, null, 2));
    fill(place, chips, view === 'json' ? json() : grid(results));
  };
  draw('table');
  return [h('p.sum', t('data.rows', { n: results.length, count: number(results.length) })), place];
}

function grid(results) {
  const found = columnsOf(results).map(({ name, kind }) => ({
    title: name,
    lead: name === 'objectId',
    cell: (row) => shown(row[name], kind === 'acl' || fixed.includes(name) ? kind : undefined),
  }));
  const list = table(found, { label: t('console.rows'), id: (row) => row.objectId, empty: t('data.noRows') });
  list.rows = results;
  return list;
}

function plan(results) {
  const kind = verdict(results);
  const line = ({ depth, kind: own, index, detail }) =>
    h(
      'li',
      { class: `depth${Math.min(depth, 4)}` },
      h(`span.tag.${own === 'scan' ? 'bad' : own === 'search' ? 'good' : 'calm'}`, t(`plan.${own}`)),
      index ? h('strong', ' ', index) : null,
      h('code', detail),
    );
  return h(
    'div.card.plan',
    h('h2', t(`plan.verdict.${kind}`)),
    h('p.hint', t(`plan.hint.${kind}`)),
    h('ol', stepsOf(results).map(line)),
  );
}
