// One customer: their orders, how to reach them, and where they are signed in.

import { APIError, find, run } from '../../shared/api.js';
import { h } from '../../shared/dom.js';
import { dialog } from '../../shared/elements/dialog.js';
import { table } from '../../shared/elements/table.js';
import { toast } from '../../shared/elements/toast.js';
import { date, dateTime, money, number } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';
import { askIfThere, runs } from '../areas.js';
import { heading } from '../listing.js';
import { contactOf, left, made, nameOf, stateTag, total } from '../orders-shared.js';

const ORDERS = 100;

export async function render({ params, router, signal, redraw }) {
  const customer = { __type: 'Pointer', className: '_User', objectId: params.id };
  const [{ results: orders, count }, sessions] = await Promise.all([
    find('Order', { where: { ...made, customer }, order: '-orderNo', limit: ORDERS, count: 1, signal }),
    runs('support') ? sessionsOf(params.id) : null,
  ]);
  if (!orders.length) throw new APIError(101, '');
  const contact = await contactOf(orders[0], signal);
  const name = contact?.firstName && contact.lastName ? `${contact.firstName} ${contact.lastName}` : nameOf(orders[0]);
  return [
    h('a.back', { href: router.href('/customers') }, `← ${t('area.customers')}`),
    heading(name, t('customer.since', { date: date(orders.at(-1).orderDate) })),
    h(
      'div.columns',
      list(orders, router, name),
      h('div.stack', facts(orders, count, contact), sessions ? signedIn(sessions, params.id, redraw) : null),
    ),
  ];
}

/** Null for a colleague's, which are the admins' business. */
async function sessionsOf(userId) {
  try {
    return await askIfThere('sessionsOf', { userId });
  } catch (error) {
    if (error.isForbidden) return null;
    throw error;
  }
}

function list(orders, router, name) {
  const shown = table(
    [
      {
        title: t('order.number'),
        lead: true,
        cell: (order) => h('a', { href: router.href(`/orders/${order.objectId}`) }, `№ ${order.orderNo}`),
      },
      { title: t('order.date'), cell: (order) => dateTime(order.orderDate) },
      { title: t('order.total'), end: true, cell: total },
      { title: t('order.state'), cell: stateTag },
    ],
    {
      label: t('customer.ordersOf', { name }),
      id: (order) => order.objectId,
      open: (order) => router.go(`/orders/${order.objectId}`),
    },
  );
  shown.rows = orders;
  return shown;
}

function facts(orders, count, contact) {
  const spent = new Map();
  for (const order of orders) spent.set(order.currency, (spent.get(order.currency) ?? 0) + left(order));
  const row = (title, value) => (value ? h('div', h('dt', title), h('dd', value)) : null);
  return h(
    'section.card',
    h('header', h('h2', t('customer.facts'))),
    h(
      'dl.facts',
      row(t('customer.email'), contact?.email ? h('a', { href: `mailto:${contact.email}` }, contact.email) : null),
      row(t('customer.phone'), contact?.phone ?? orders[0].shippingAddress?.phone),
      row(t('customer.orders'), number(count)),
      row(t('customer.spent'), [...spent].map(([currency, sum]) => money(sum, currency)).join(' + ')),
    ),
  );
}

function signedIn(sessions, userId, redraw) {
  const rows = sessions.map((session) =>
    h(
      'li',
      h(
        'div.grow',
        h('strong', t('session.since', { date: dateTime(session.createdAt) })),
        h('p.soft.small', session.expiresAt ? t('session.until', { date: date(session.expiresAt) }) : ''),
      ),
    ),
  );
  const end = () =>
    dialog({
      title: t('session.endTitle'),
      text: t('session.endText'),
      confirm: t('session.end'),
      isDanger: true,
      async submit() {
        const { revoked } = await run('revokeSessions', { userId });
        toast(t('session.ended', { n: revoked }));
      },
    }).then((done) => done && redraw());
  return h(
    'section.card',
    h('header', h('h2', t('session.title'))),
    rows.length ? h('ul.rows', rows) : h('p.nothing', t('session.none')),
    rows.length ? h('button.danger', { type: 'button', onclick: end }, t('session.end')) : null,
  );
}
