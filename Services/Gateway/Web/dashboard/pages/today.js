// The view of the morning: what was sold, and what waits for somebody.

import { ask, auth, call, find } from '../../shared/api.js';
import { h } from '../../shared/dom.js';
import { ago, longDay, money, number, percent } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';
import { server } from '../../shared/settings.js';
import { heading } from '../listing.js';
import { inState, nameOf, total } from '../orders-shared.js';
import { picture } from '../product-picture.js';
import { ordersChart, salesChart, sum } from '../sales-charts.js';

const DAYS = 30;
const LOW = 10;
const ROWS = 5;

export async function render({ router, signal }) {
  const [sales, orders, low, reviews, mails, declined, health] = await Promise.all([
    salesOf(signal),
    find('Order', { where: inState('made'), order: 'orderNo', limit: ROWS, count: 1, signal }),
    find('Product', {
      where: { stock: { $lte: LOW }, active: { $ne: false } },
      order: 'stock,name',
      limit: ROWS,
      count: 1,
      signal,
    }),
    ask('reviewsToModerate', { limit: 100 }, signal),
    ask('mails', { state: 'failed', limit: 100 }, signal),
    ask('charges', { state: 'declined', limit: 100 }, signal),
    call('GET', '/health', { signal }),
  ]);
  const cards = [
    card(
      t('today.toShip', { n: orders.count }),
      router.href('/orders', { state: 'made' }),
      toShip(orders.results, router),
      t('today.noneToShip'),
    ),
    card(
      t('today.lowStock', { n: low.count }),
      router.href('/products', { show: 'low' }),
      lowStock(low.results, router),
      t('today.noneLow'),
    ),
    card(
      t('today.reviews', { n: reviews.length }),
      router.href('/reviews'),
      reviewRows(reviews, router),
      t('today.noReviews'),
    ),
  ];
  return [
    heading(greeting(), longDay(new Date())),
    figures(sales.points, orders.count),
    h(
      'div.columns',
      h('div.stack', salesChart(sales.points), h('div.halves', cards.slice(0, 2))),
      h('div.stack', troubles(mails, declined, health), cards[2], ordersChart(sales.points)),
    ),
  ];
}

/** The days of the shop's currency. The server counts days in UTC. */
async function salesOf(signal) {
  const from = new Date(Date.now() - (DAYS - 1) * 86400000);
  const all = await ask(
    'analyticsSales',
    { interval: 'day', from: { __type: 'Date', iso: from.toISOString() } },
    signal,
  );
  return all.find((sales) => sales.currency === server.currency) ?? { points: [] };
}

function greeting() {
  const hour = new Date().getHours();
  const part = hour < 5 || hour >= 18 ? 'evening' : hour < 12 ? 'morning' : 'day';
  const name = auth.current.user.firstName;
  return name ? t(`today.${part}.name`, { name }) : t(`today.${part}`);
}

function figures(points, waiting) {
  const zero = { netMinorUnits: 0, orders: 0, pieces: 0 };
  const now = points.at(-1) ?? zero;
  const weekAgo = points.at(-8) ?? zero;
  const week = sum(points.slice(-7));
  const before = sum(points.slice(-14, -7));
  return h(
    'dl.figuresRow',
    figure(
      t('today.sales'),
      money(now.netMinorUnits),
      compared(now.netMinorUnits, weekAgo.netMinorUnits, 'today.thanWeekAgo'),
    ),
    figure(t('today.orders'), number(now.orders), t('today.pieces', { n: now.pieces })),
    figure(t('today.week'), money(week), compared(week, before, 'today.thanWeekBefore')),
    figure(t('today.waiting'), number(waiting), t('today.waitingNote')),
  );
}

function figure(title, value, note) {
  return h('div.card.figure', h('dt', title), h('dd', value), h('dd.note', note));
}

function compared(now, before, key) {
  if (!before) return t('today.nothingBefore');
  const share = now / before - 1;
  return [h(`span.${share < 0 ? 'down' : 'up'}`, percent(share)), ' ', t(key)];
}

function card(title, href, rows, nothing) {
  return h(
    'section.card',
    h(
      'header',
      h('h2', title),
      rows.length ? h('a', { href, 'aria-label': `${t('today.all')}: ${title}` }, t('today.all')) : null,
    ),
    rows.length ? h('ul.rows', rows) : h('p.nothing', nothing),
  );
}

function toShip(orders, router) {
  return orders.map((order) =>
    h(
      'li',
      h(
        'div.grow',
        h('a', { href: router.href(`/orders/${order.objectId}`) }, `№ ${order.orderNo}`),
        h('p.soft.small.clip', `${nameOf(order)} · ${ago(order.orderDate)}`),
      ),
      h('span', total(order)),
    ),
  );
}

function lowStock(products, router) {
  return products.map((product) =>
    h(
      'li',
      picture(product),
      h('div.grow', h('a', { href: router.href('/products', { search: product.name }) }, product.name)),
      h(
        `span.tag.${product.stock ? 'warn' : 'bad'}`,
        product.stock ? t('product.left', { n: product.stock }) : t('product.soldOut'),
      ),
    ),
  );
}

function reviewRows(reviews, router) {
  return reviews
    .slice(0, ROWS)
    .map((review) =>
      h(
        'li',
        h('div.grow', h('p.clip', review.content), h('p.soft.small', t('review.reports', { n: review.reports }))),
        h(
          'a',
          { href: router.href('/reviews'), 'aria-label': `${t('review.look')}: ${review.content.slice(0, 40)}` },
          t('review.look'),
        ),
      ),
    );
}

/** What went wrong by itself: mails, payments, processes. */
function troubles(mails, declined, health) {
  const recent = declined.filter((charge) => Date.now() - new Date(charge.createdAt) < 7 * 86400000);
  const down = Object.entries(health.services ?? {})
    .filter(([, service]) => service.status !== 'ok')
    .map(([name]) => name);
  const rows = [
    [t('today.services'), down.length ? 'bad' : 'good', down.length ? down.join(', ') : t('today.allWell')],
    [t('today.mails'), mails.length ? 'bad' : 'good', mails.length ? number(mails.length) : t('today.none')],
    [t('today.declined'), recent.length ? 'warn' : 'good', recent.length ? number(recent.length) : t('today.none')],
  ];
  return h(
    'section.card',
    h('header', h('h2', t('today.state'))),
    h(
      'ul.rows',
      rows.map(([title, kind, text]) => h('li', h('span.grow', title), h(`span.tag.${kind}`, text))),
    ),
  );
}
