// The cards of the start view: pending work, each for the operators of its area.

import { APIError } from '../../shared/api.js';
import { h } from '../../shared/dom.js';
import { errorText } from '../../shared/elements/toast.js';
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

/** A card in place of one whose request failed. */
export function unavailable(title, error) {
  return h('section.card', h('header', h('h2', title)), h('p.problem', errorText(error)));
}

/** Failures of services, mails, payments and pushes, and refused work; null when the operator may see none of them. */
export function troubles({ health, mails, declined, pushes, parked }, router) {
  const row = (answer, tag, key, path, query) => {
    if (!answer) return null;
    const link = h('a', { href: router.href(path, query) }, t(key));
    if (answer instanceof APIError) return h('li', h('div.grow', link, h('p.problem', errorText(answer))));
    const [kind, text] = tag(answer);
    return h('li', h('span.grow', link), h(`span.tag.${kind}`, text));
  };
  const refused = ({ counts }) => counted('bad')({ count: parkedTotal(counts) });
  const rows = [
    row(health, services, 'today.services', '/operations'),
    row(mails, counted('bad'), 'today.mails', '/mails', { state: mails.state }),
    row(declined, counted('warn'), 'today.declined', '/charges', { state: 'declined' }),
    row(pushes, counted('warn'), 'today.pushes', '/pushes', { status: 'failed' }),
    row(parked, refused, 'today.parked', '/operations/parked'),
  ].filter(Boolean);
  if (!rows.length) return null;
  return h('section.card', h('header', h('h2', t('today.state'))), h('ul.rows', rows));
}

const counted =
  (kind) =>
  ({ count }) =>
    count ? [kind, number(count)] : ['good', t('today.none')];

function services(health) {
  // Without cloud code the shop is well although `cloud` is missing.
  const down = Object.entries(health.status === 'ok' ? {} : (health.services ?? {}))
    .filter(([, service]) => service.status !== 'ok')
    .map(([name, { problem }]) => (problem ? `${name}: ${problem}` : name));
  return [down.length ? 'bad' : 'good', down.length ? down.join(', ') : t('today.allWell')];
}
