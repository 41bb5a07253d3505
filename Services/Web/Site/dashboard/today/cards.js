// The cards of the start view: pending work, each for the operators of its area.

import { h } from '../../shared/dom.js';
import { ago, number } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';
import { total as parkedTotal } from '../operations/parked.js';
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
  const oldestFirst = router.href('/orders', { state: 'made', sort: 'orderNo' });
  return card(t('today.toShip', { n: count }), oldestFirst, rows, t('today.noneToShip'));
}

/** @param hasProducts whether the shop has any product. */
export function lowStock({ results, count }, router, hasProducts) {
  const rows = results.map((product) =>
    h(
      'li',
      picture(product),
      h('div.grow', h('a', { href: router.href(`/products/${product.objectId}`) }, product.name)),
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

export function toModerate({ results, count }, router) {
  const rows = results.map((review) =>
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
  return card(t('today.reviews', { n: count }), router.href('/reviews'), rows, t('today.noReviews'));
}

/** Failures of services, mails, payments and pushes, and refused work; null when the operator may see none of them. */
export function troubles({ health, mails, declined, pushes, parked }, router) {
  const link = (key, path, query) => h('a', { href: router.href(path, query) }, t(key));
  const rows = [
    health && [link('today.services', '/operations'), ...services(health)],
    mails && [link('today.mails', '/mails', { state: mails.state }), ...counted(mails, 'bad')],
    declined && [link('today.declined', '/charges', { state: 'declined' }), ...counted(declined, 'warn')],
    pushes && [link('today.pushes', '/pushes', { status: 'failed' }), ...counted(pushes, 'warn')],
    parked && [link('today.parked', '/operations/parked'), ...counted({ count: parkedTotal(parked.counts) }, 'bad')],
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

const counted = ({ count }, kind) => (count ? [kind, number(count)] : ['good', t('today.none')]);

function services(health) {
  const down = Object.entries(health.services ?? {})
    .filter(([, service]) => service.status !== 'ok')
    .map(([name, { problem }]) => (problem ? `${name}: ${problem}` : name));
  return [down.length ? 'bad' : 'good', down.length ? down.join(', ') : t('today.allWell')];
}
