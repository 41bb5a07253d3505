// Customers with their totals, and for operators who manage accounts every account.

import { ask } from '../../shared/api.js';
import { h } from '../../shared/dom.js';
import { table } from '../../shared/elements/table.js';
import { failure, toast } from '../../shared/elements/toast.js';
import { ago, number } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';
import { dayText } from '../../shared/zone.js';
import { accounts } from '../customers/accounts.js';
import { tagList } from '../customers/marks.js';
import { allCustomers, customersAsCSV, filter, spent } from '../customers/totals.js';
import { saveFile } from '../forms/save-file.js';
import { viewBar, wantedColumns } from '../lists/list-views.js';
import { counted, heading, pager, stateChips } from '../lists/listing.js';
import { searchField } from '../lists/search-field.js';
import { runs } from '../shell/areas.js';

const PAGE = 50;
/** Tags that are offered as a filter: the most frequent ones. */
const TAGS = 12;
/** The newest order first by default. */
const sorts = ['lastOrder', 'name', 'email', 'orders', 'spent'].flatMap((name) => [`-${name}`, name]);

export async function render(view) {
  const { router, query } = view;
  if (!runs('support')) return buyers(view, null);
  const show = query.show === 'accounts' ? 'accounts' : '';
  const chips = stateChips(
    t('customers.show'),
    ['', 'accounts'].map((key) => [key, t(`customers.show.${key || 'buyers'}`)]),
    show,
    (next) => router.go('/customers', { show: next, search: query.search }, { replace: true }),
  );
  if (!show) return buyers(view, chips);
  return [heading(t('area.customers'), t('accounts.note')), h('div.bar', chips), await accounts(view)];
}

async function buyers(view, chips) {
  const { router, query, signal } = view;
  const sorted = sorts.includes(query.sort) ? query.sort : sorts[0];
  const page = Math.max(1, Number.parseInt(query.page ?? '1', 10) || 1);
  const columns = columnsOf(router);
  const wanted = filter(query);
  const [found, views] = await Promise.all([
    ask('customers', { ...wanted, sort: sorted, limit: PAGE, skip: (page - 1) * PAGE }, signal),
    viewBar('customers', view, columns),
  ]);
  const go = (change) => router.go('/customers', { ...query, page: '', ...change }, { replace: true });
  const save = (event) => saveAll(wanted, event.currentTarget);
  const shown = table(wantedColumns(columns, query.columns), {
    label: t('area.customers'),
    id: (customer) => customer.customerId,
    empty: t('customers.none'),
    open: (customer) => router.go(`/customers/${customer.customerId}`),
    sorted,
    onsort: (sort) => go({ sort }),
  });
  shown.rows = found.results;
  return [
    heading(
      t('area.customers'),
      counted('customers.count', found.count),
      h(
        'div.actions',
        runs('support') ? h('a.button', { href: router.href('/mails') }, t('mails.title')) : null,
        h('button', { type: 'button', onclick: save }, t('csv.export')),
      ),
    ),
    chips ? h('div.bar', chips) : null,
    found.counting ? h('p.hint', { role: 'status' }, t('customers.counting')) : null,
    h(
      'div.bar',
      searchField(t('customers.search'), query.search, (search) => go({ search })),
    ),
    tagChips(found.tags, query.tag ?? '', (tag) => go({ tag })),
    views,
    shown,
    pager(page, PAGE, found.count, (next) => router.go('/customers', { ...query, page: next })),
  ];
}

function tagChips(tags, chosen, onchoose) {
  const offered = tags.slice(0, TAGS).map(({ tag, count }) => [tag, `${tag} (${number(count)})`]);
  if (chosen && !offered.some(([tag]) => tag === chosen)) offered.push([chosen, chosen]);
  if (!offered.length) return null;
  const choices = [['', t('customers.allTags')], ...offered];
  return h('div.bar', stateChips(t('customer.tags'), choices, chosen, onchoose));
}

function columnsOf(router) {
  return [
    {
      title: t('customer.name'),
      lead: true,
      sort: 'name',
      cell: ({ customerId, name, email }) =>
        h('a', { href: router.href(`/customers/${customerId}`) }, name || email || t('order.nobody')),
    },
    { name: 'email', title: t('customer.email'), sort: 'email', cell: (customer) => customer.email ?? '' },
    { name: 'place', title: t('customer.place'), cell: (customer) => customer.city ?? '' },
    {
      name: 'orders',
      title: t('customer.orders'),
      end: true,
      sort: 'orders',
      cell: (customer) => number(customer.orders),
    },
    { name: 'spent', title: t('customer.spent'), end: true, sort: 'spent', cell: spent },
    {
      name: 'last',
      title: t('customer.last'),
      sort: 'lastOrder',
      cell: ({ lastOrderDate }) => (lastOrderDate ? ago(lastOrderDate) : ''),
    },
    { name: 'tags', title: t('customer.tags'), cell: (customer) => tagList(customer.tags) },
  ];
}

async function saveAll(wanted, button) {
  button.disabled = true;
  try {
    const all = await allCustomers(wanted);
    saveFile(`customers-${dayText(new Date())}.csv`, 'text/csv', customersAsCSV(all));
    toast(counted('customers.exported', all.length));
  } catch (error) {
    failure(error);
  } finally {
    button.disabled = false;
  }
}
