// One customer: orders, totals, tags and notes, and for operators who manage accounts the account and its sessions.

import { APIError, ask, find, run } from '../../shared/api.js';
import { h } from '../../shared/dom.js';
import { dialog } from '../../shared/elements/dialog.js';
import { table } from '../../shared/elements/table.js';
import { toast } from '../../shared/elements/toast.js';
import { date, dateTime, number } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';
import { accountCard } from '../customers/account-card.js';
import { accountName } from '../customers/accounts.js';
import { mailButton, mailsTo } from '../customers/mail.js';
import { marksCard } from '../customers/marks.js';
import { spent } from '../customers/totals.js';
import { heading } from '../lists/listing.js';
import { contactOf, made, nameOf, stateTag, total } from '../orders/shared.js';
import { askIfThere, runs } from '../shell/areas.js';

const ORDERS = 100;

export async function render({ params, router, signal, redraw }) {
  const customer = { __type: 'Pointer', className: '_User', objectId: params.id };
  const [{ results: orders, count }, { results: rows }, sessions, account, mails] = await Promise.all([
    find('Order', { where: { ...made, customer }, order: '-orderNo', limit: ORDERS, count: 1, signal }),
    ask('customers', { customerId: params.id }, signal),
    runs('support') ? told('sessionsOf', params.id) : null,
    runs('support') ? told('account', params.id) : null,
    mailsTo(params.id, signal),
  ]);
  if (!orders.length && !account) throw new APIError(101, '');
  const contact = orders.length ? await contactOf(orders[0], signal) : null;
  const name = personName(orders, contact, account);
  // The order desk writes to customers of orders only.
  const to = account ? { userId: params.id } : { orderId: orders[0]?.objectId };
  return [
    h('a.back', { href: router.back('/customers') }, `← ${t('area.customers')}`),
    heading(name, since(orders, account), mailButton(to, '', redraw)),
    h(
      'div.columns',
      orders.length ? list(orders, router, name) : h('p.card.nothing', t('customer.noOrders')),
      h(
        'div.stack',
        orders.length ? facts(orders[0], rows[0], contact) : null,
        marksCard(params.id, rows[0], redraw),
        account
          ? accountCard(
              account,
              { orders, count, sessions: sessions ?? [] },
              { edited: redraw, deleted: () => router.go('/customers') },
            )
          : null,
        mails,
        sessions ? signedIn(sessions, params.id, redraw) : null,
      ),
    ),
  ];
}

/** Null for an operator's account, which only admins may see, and for an account that does not exist. */
async function told(name, userId) {
  try {
    return await askIfThere(name, { userId });
  } catch (error) {
    if (error.isForbidden || error.isGone) return null;
    throw error;
  }
}

function personName(orders, contact, account) {
  if (contact?.firstName && contact.lastName) return `${contact.firstName} ${contact.lastName}`;
  return orders.length ? nameOf(orders[0]) : accountName(account);
}

function since(orders, account) {
  return orders.length
    ? t('customer.since', { date: date(orders.at(-1).orderDate) })
    : t('account.sinceNote', { date: date(account.createdAt) });
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

/** @param totals the row of `customers`; undefined while the orders of an earlier release are being counted. */
function facts(newest, totals, contact) {
  const row = (title, value) => (value ? h('div', h('dt', title), h('dd', value)) : null);
  return h(
    'section.card',
    h('header', h('h2', t('customer.facts'))),
    h(
      'dl.facts',
      row(t('customer.email'), contact?.email ? h('a', { href: `mailto:${contact.email}` }, contact.email) : null),
      row(t('customer.phone'), contact?.phone ?? newest.shippingAddress?.phone),
      totals
        ? [
            row(t('customer.orders'), number(totals.orders)),
            row(t('customer.spent'), spent(totals)),
            row(t('customer.last'), dateTime(totals.lastOrderDate)),
          ]
        : row(t('customer.orders'), t('customers.counting')),
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
