// The cards of the start view: pending work, each for the operators of its area.

import { h } from '../../shared/dom.js';
import { ago, number } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';
import { nameOf, total } from '../orders/shared.js';
import { picture } from '../products/picture.js';

export const ROWS = 5;

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

export function toShip({ results, count }, router) {
  const rows = results.map((order) =>
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
  return card(t('today.toShip', { n: count }), router.href('/orders', { state: 'made' }), rows, t('today.noneToShip'));
}

/** @param hasProducts whether the shop has any product. */
export function lowStock({ results, count }, router, hasProducts) {
  const rows = results.map((product) =>
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
  const add = () => h('a', { href: router.href('/products') }, t('start.product'));
  const nothing = hasProducts ? t('today.noneLow') : [t('today.noProducts'), ' ', add()];
  return card(t('today.lowStock', { n: count }), router.href('/products', { show: 'low' }), rows, nothing);
}

export function toModerate(reviews, router) {
  const rows = reviews
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
  return card(t('today.reviews', { n: reviews.length }), router.href('/reviews'), rows, t('today.noReviews'));
}

/** Failures of services, mails and payments; null when the operator may see none of them. */
export function troubles({ health, mails, declined }, router) {
  const link = (key, path, state) => h('a', { href: router.href(path, { state }) }, t(key));
  const rows = [
    health && services(health),
    mails && [link('today.mails', '/mails', 'failed'), mails.length ? 'bad' : 'good', counted(mails)],
    declined && [link('today.declined', '/charges', 'declined'), ...payments(declined)],
  ].filter(Boolean);
  if (!rows.length) return null;
  return h(
    'section.card',
    h('header', h('h2', t('today.state'))),
    h(
      'ul.rows',
      rows.map(([title, kind, text]) => h('li', h('span.grow', title), h(`span.tag.${kind}`, text))),
    ),
  );
}

const counted = (list) => (list.length ? number(list.length) : t('today.none'));

function services(health) {
  const down = Object.entries(health.services ?? {})
    .filter(([, service]) => service.status !== 'ok')
    .map(([name, { problem }]) => (problem ? `${name}: ${problem}` : name));
  return [t('today.services'), down.length ? 'bad' : 'good', down.length ? down.join(', ') : t('today.allWell')];
}

function payments(declined) {
  const recent = declined.filter((charge) => Date.now() - new Date(charge.createdAt) < 7 * 86400000);
  return [recent.length ? 'warn' : 'good', counted(recent)];
}
