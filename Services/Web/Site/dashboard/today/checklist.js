// The checklist of a new shop: what is missing before customers come. For admins, until all is done or it is hidden.

import { ask, call, find } from '../../shared/api.js';
import { fill, h } from '../../shared/dom.js';
import { t } from '../../shared/i18n.js';
import { preference } from '../../shared/settings.js';
import { made } from '../orders/shared.js';
import { runs } from '../shell/areas.js';

const SETTINGS = ['SATCHEL_PAYMENTS', 'SATCHEL_MAIL', 'SATCHEL_PUBLIC_URL'];
const LOCAL = /^https:\/\/(?:localhost|127\.|\[::1\])/i;
const hidden = preference('checklist', '');

/**
 * The steps, each with the page where it is done.
 * @param known `{ products, orders, operators, settings }`: numbers, and the values of settings by name.
 */
export function stepsOf({ products, orders, operators, settings }) {
  const setting = (name) => ({ path: '/operations/settings', query: { search: name } });
  const chosen = (name, standard) => (settings.get(name) || standard) !== standard;
  const url = settings.get('SATCHEL_PUBLIC_URL') ?? '';
  return [
    { name: 'product', path: '/products', isDone: products > 0 },
    { name: 'payments', ...setting('SATCHEL_PAYMENTS'), isDone: chosen('SATCHEL_PAYMENTS', 'sandbox') },
    { name: 'mail', ...setting('SATCHEL_MAIL'), isDone: chosen('SATCHEL_MAIL', 'spool') },
    { name: 'address', ...setting('SATCHEL_PUBLIC_URL'), isDone: /^https:/i.test(url) && !LOCAL.test(url) },
    { name: 'team', path: '/team', isDone: operators > 1 },
    { name: 'order', path: '/orders', isDone: orders > 0 },
  ];
}

/** The values of settings by name; the first process that has one counts. */
export function valuesOf(processes) {
  const all = processes.flatMap(({ settings }) => settings ?? []).reverse();
  return new Map(all.filter(({ value }) => value).map(({ name, value }) => [name, value]));
}

/** The place of the list, which is filled when everything is known. */
export function checklist(router, signal) {
  const place = h('div');
  if (!runs() || hidden.get()) return place;
  known(signal)
    .then((answers) => {
      const steps = stepsOf(answers);
      if (!signal.aborted && steps.some(({ isDone }) => !isDone)) fill(place, card(steps, router, place));
    })
    // Today is complete without it.
    .catch(() => {});
  return place;
}

async function known(signal) {
  const any = (className, where = {}) => find(className, { where, limit: 1, keys: 'objectId', signal });
  const [products, orders, { operators }, { processes }] = await Promise.all([
    any('Product'),
    any('Order', made),
    ask('myAreas', {}, signal),
    call('GET', '/operations/settings', { query: { names: SETTINGS.join() }, signal }),
  ]);
  return {
    products: products.results.length,
    orders: orders.results.length,
    operators,
    settings: valuesOf(processes),
  };
}

function card(steps, router, place) {
  const hide = () => {
    hidden.set('hidden');
    fill(place);
  };
  const row = ({ name, path, query, isDone }) =>
    h(
      'li',
      h(
        'div.grow',
        h('a', { href: router.href(path, query) }, t(`start.${name}`)),
        isDone ? null : h('p.soft.small', t(`start.${name}Note`)),
      ),
      h(isDone ? 'span.tag.good' : 'span.tag', t(isDone ? 'start.done' : 'start.open')),
    );
  return h(
    'section.card.checklist',
    h('header', h('h2', t('start.title')), h('button.quiet', { type: 'button', onclick: hide }, t('start.hide'))),
    h('ul.rows', steps.map(row)),
  );
}
