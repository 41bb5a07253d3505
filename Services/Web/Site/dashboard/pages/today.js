// The start view: sales and pending work, as far as the operator's areas allow.

import { APIError, ask, auth, call, find } from '../../shared/api.js';
import { fill, h } from '../../shared/dom.js';
import { parameters, range } from '../../shared/figures/range.js';
import { longDay, moment, money, number, percent } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';
import { server } from '../../shared/settings.js';
import { hourOf } from '../../shared/zone.js';
import { counted, heading } from '../lists/listing.js';
import { followCard } from '../live/card.js';
import { newsLine } from '../live/news.js';
import { inState } from '../orders/shared.js';
import { runs, sees } from '../shell/areas.js';
import { checklist } from '../today/checklist.js';
import { lowStock, ROWS, toModerate, toShip, troubles, unavailable } from '../today/cards.js';
import { ordersChart, salesChart, sum } from '../today/sales-charts.js';

const DAYS = 30;
const LOW = 10;
const DAY = 86400000;
/** The newest mails of a state; the view counts the ones of a week. */
const MAILS = 100;

export async function render({ router, signal }) {
  const { sales, orders, low, some, reviews, ...state } = await asked(signal);
  const waits = h('span', number(orders.count ?? 0));
  const news = newsLine();
  const shipping = (now, before) => {
    fill(waits, number(now.count));
    if (now.count > before.count) news.say(counted('live.newOrders', now.count - before.count));
    return toShip(now, router);
  };
  const stock = (now) => lowStock(now, router, some.results?.length !== 0);
  const cards = [
    part(orders, t('today.waiting'), () => followCard('Order', waiting, orders, shipping, signal)),
    part(low, t('products.show.low'), () => followCard('Product', lowest, low, stock, signal)),
  ];
  const moderation = part(reviews, t('area.reviews'), () => toModerate(reviews, router));
  const chart = part(sales, t('today.chart', { days: DAYS }), () => salesChart(sales.points));
  return [
    heading(greeting(), longDay(new Date())),
    news.element,
    checklist(router, signal),
    figures(sales.points, orders.results && waits, router),
    sales
      ? h(
          'div.columns',
          h('div.stack', chart, cards.some(Boolean) ? h('div.halves', cards) : null),
          h('div.stack', troubles(state, router), moderation, sales.points && ordersChart(sales.points)),
        )
      : h('div.halves', cards, moderation, troubles(state, router)),
  ];
}

/** What an answer shows; for a failed request the error, and nothing where none was sent. */
function part(answer, title, draw) {
  return answer instanceof APIError ? unavailable(title, answer) : answer && draw();
}

/** Sends only the requests that the operator's areas allow: `false` for others, and the error of one that failed. */
async function asked(signal) {
  const [readsOrders, keepsProducts] = [runs('orders', 'support'), runs('catalog')];
  const week = { __type: 'Date', iso: new Date(Date.now() - 7 * DAY).toISOString() };
  const questions = {
    sales: runs('developers') && salesOf(signal),
    orders: readsOrders && waiting.load(signal),
    low: keepsProducts && lowest.load(signal),
    some: keepsProducts && find('Product', { limit: 1, keys: 'objectId', signal }),
    reviews: runs('catalog', 'support') && ask('reviewsToModerate', { limit: ROWS, count: true }, signal),
    mails: runs('support') && unsentMails(signal),
    declined: runs('orders') && ask('charges', { state: 'declined', from: week, limit: 1, count: true }, signal),
    pushes: sees('promotions') && ask('pushes', { status: 'failed', from: week, limit: 1 }, signal),
    parked: sees('parked') && call('GET', '/operations/parked', { signal }),
    health: runs('developers') && healthOf(signal),
  };
  const answers = await Promise.all(Object.values(questions).map((question) => question && orError(question)));
  const sent = answers.filter(Boolean);
  // The view's own problem is gone as soon as the server can be reached again.
  if (sent.length && sent.every((answer) => answer instanceof APIError)) throw sent[0];
  return Object.fromEntries(Object.keys(questions).map((name, index) => [name, answers[index]]));
}

/** The error of a request that failed, unless it is about the operator's session or rights. */
async function orError(question) {
  try {
    return await question;
  } catch (error) {
    if (!(error instanceof APIError) || error.isSession || error.isForbidden || error.status === 403) throw error;
    return error;
  }
}

/** The status of the response is 503 while an essential service is away: it names the services, too. */
async function healthOf(signal) {
  try {
    return await call('GET', '/health', { signal });
  } catch (error) {
    if (!error.answer?.services) throw error;
    return error.answer;
  }
}

/** Mails of the last seven days that their customers did not get, and the state of the first of them. */
async function unsentMails(signal) {
  const states = ['failed', 'bounced', 'held'];
  const answers = await Promise.all(states.map((state) => ask('mails', { state, limit: MAILS }, signal)));
  const isNew = ({ queuedAt }) => moment(queuedAt) > Date.now() - 7 * DAY;
  const counts = answers.map((mails) => mails.filter(isNew).length);
  const first = counts.findIndex(Boolean);
  return { count: counts.reduce((sum, count) => sum + count), state: states[Math.max(first, 0)] };
}

const where = { stock: { $lte: LOW }, active: { $ne: false } };
const lowest = {
  where,
  load: (signal) => find('Product', { where, order: 'stock,name', limit: ROWS, count: 1, signal }),
};
const waiting = {
  where: inState('made'),
  load: (signal) => ask('orders', { status: 'made', sort: 'orderNo', limit: ROWS }, signal),
};

/** The last days in the shop's currency. */
async function salesOf(signal) {
  const all = await ask('analyticsSales', parameters(range({ days: DAYS }), 'day'), signal);
  return all.find((sales) => sales.currency === server.currency) ?? { points: [] };
}

function greeting() {
  const hour = hourOf(new Date());
  const part = hour < 5 || hour >= 18 ? 'evening' : hour < 12 ? 'morning' : 'day';
  const name = auth.current?.user.firstName;
  return name ? t(`today.${part}.name`, { name }) : t(`today.${part}`);
}

/** The row of numbers; `points` and `waits` are null without the right to see them. */
function figures(points, waits, router) {
  const all = points ? sales(points, router) : [];
  const href = router.href('/orders', { state: 'made', sort: 'orderNo' });
  if (waits) all.push(figure(t('today.waiting'), waits, t('today.waitingNote'), href));
  return all.length ? h('dl.figuresRow', all) : null;
}

function sales(points, router) {
  const zero = { netMinorUnits: 0, orders: 0, pieces: 0 };
  const now = points.at(-1) ?? zero;
  const weekAgo = points.at(-8) ?? zero;
  const week = sum(points.slice(-7));
  const before = sum(points.slice(-14, -7));
  const onDay = compared(now.netMinorUnits, weekAgo.netMinorUnits, 'today.thanWeekAgo');
  const during = (days) => router.href('/analytics', { days });
  return [
    figure(t('today.sales'), money(now.netMinorUnits), onDay, during(1)),
    figure(t('today.orders'), number(now.orders), t('today.pieces', { n: now.pieces }), during(1)),
    figure(t('today.week'), money(week), compared(week, before, 'today.thanWeekBefore'), during(7)),
  ];
}

function figure(title, value, note, href) {
  return h('div.card.figure', h('dt', title), h('dd', h('a', { href }, value)), h('dd.note', note));
}

function compared(now, before, key) {
  if (!before) return t('today.nothingBefore');
  const share = now / before - 1;
  return [h(`span.${share < 0 ? 'down' : 'up'}`, percent(share)), ' ', t(key)];
}
