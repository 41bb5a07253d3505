// Sales: revenue, orders and average from analytics, and brands and products from bag.

import { ask } from '../../shared/api.js';
import { h } from '../../shared/dom.js';
import { parameters } from '../../shared/figures/range.js';
import { decimals, money, number, shortMoney } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';
import { server } from '../../shared/settings.js';
import { stateChips } from '../lists/listing.js';
import { changed, ranking, trend } from './cards.js';
import { soldRows, TOP } from './sold.js';

const none = {
  orders: 0,
  pieces: 0,
  grossMinorUnits: 0,
  netMinorUnits: 0,
  cancelled: 0,
  refunds: 0,
  refundedMinorUnits: 0,
};

export async function sales(view, query, go) {
  const { stretch, compares, signal } = view;
  const answers = new Map();
  /** Each period is requested once and shared by all charts. */
  const load = (wanted) => {
    const key = wanted.from.toISOString();
    if (!answers.has(key)) answers.set(key, ask('analyticsSales', parameters(wanted, stretch.interval), signal));
    return answers.get(key);
  };
  const all = await load(stretch);
  const currencies = [...new Set([server.currency, ...all.map((one) => one.currency)])];
  const currency = currencies.includes(query.currency) ? query.currency : server.currency;
  const of = async (wanted) => (await load(wanted)).find((one) => one.currency === currency) ?? { points: null };
  const figure = (pick) => async (wanted) => {
    const { points } = await of(wanted);
    // A period without sales has no series for the currency: its points are taken from another series, with zeros.
    const steps = points ?? (await empty(wanted, stretch.interval, signal));
    return steps.map((point) => ({ at: point.at, value: pick({ ...none, ...point }) }));
  };
  const inMoney = {
    text: (value) => money(value, currency),
    short: (value) => shortMoney(value, currency),
    exact: (value) => value / 10 ** decimals(currency),
  };
  const average = ({ orders, grossMinorUnits }) => (orders ? Math.round(grossMinorUnits / orders) : 0);
  return [
    currencies.length > 1
      ? h(
          'div.bar',
          stateChips(
            t('analytics.currency'),
            currencies.map((code) => [code, code.toUpperCase()]),
            currency,
            (code) => go({ currency: code }),
          ),
        )
      : null,
    totals(
      { ...none, ...(await of(stretch)).totals },
      compares ? { ...none, ...(await of({ ...stretch, ...stretch.before })).totals } : null,
      inMoney.text,
      average,
    ),
    h(
      'div.halves',
      trend(view, {
        name: 'net-sales',
        title: t('analytics.net'),
        load: figure((point) => point.netMinorUnits),
        ...inMoney,
      }),
      trend(view, {
        name: 'orders',
        title: t('analytics.orders'),
        element: 's-bar-chart',
        load: figure((point) => point.orders),
      }),
      trend(view, {
        name: 'average-order',
        title: t('analytics.average'),
        isSum: false,
        load: figure(average),
        ...inMoney,
      }),
      ['brand', 'product'].map((key) => soldBy(view, key, currency, inMoney)),
    ),
    h('p.hint', t('analytics.soldHint')),
  ];
}

function soldBy(view, key, currency, { text, exact }) {
  const title = t(key === 'brand' ? 'analytics.byBrand' : 'analytics.byProduct');
  const columns = [t(`analytics.${key}`), t('analytics.netOf'), t('analytics.pieces')];
  const load = async (stretch) => {
    const wanted = { ...parameters(stretch), currency, groupBy: key, limit: TOP };
    return soldRows(await ask('salesByProduct', wanted, view.signal));
  };
  return ranking(view, `sales-by-${key}`, title, columns, load, text, exact);
}

/** Points with zeros at the times of the shop currency's series in this period. */
async function empty(wanted, interval, signal) {
  const series = await ask('analyticsSeries', { metric: 'sales', ...parameters(wanted, interval) }, signal);
  return series.points.map(({ at }) => ({ at, ...none }));
}

function totals(now, before, text, average) {
  const one = (title, pick, shown) =>
    h(
      'div.card.figure',
      h('dt', title),
      h('dd', shown(pick(now))),
      before ? h('dd.note', changed(pick(now), pick(before))) : null,
    );
  return h(
    'dl.figuresRow',
    one(t('analytics.net'), (sums) => sums.netMinorUnits, text),
    one(t('analytics.orders'), (sums) => sums.orders, number),
    one(t('analytics.average'), average, text),
    one(t('analytics.refunded'), (sums) => sums.refundedMinorUnits, text),
  );
}
