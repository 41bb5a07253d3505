// The accounts whose name or address begins with the search text, also of people who never ordered. For admins and
// support; only admins can open operators' accounts.

import { ask } from '../../shared/api.js';
import { h } from '../../shared/dom.js';
import { table } from '../../shared/elements/table.js';
import { date } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';
import { searchField } from '../lists/search-field.js';
import { runs } from '../shell/areas.js';

const LIMIT = 50;
/** Minimum length of a search text. */
const SHORTEST = 2;

/** The display name of an account: its name, else the address or the user name. */
export function accountName(account) {
  const both = [account.firstName, account.lastName].filter(Boolean).join(' ');
  return both || account.name || account.email || account.username || account.objectId;
}

export async function accounts({ router, query, signal }) {
  const search = (query.search ?? '').trim();
  const isLong = [...search].length >= SHORTEST;
  const found = isLong ? await ask('accounts', { search, limit: LIMIT }, signal) : null;
  return [
    h(
      'div.bar',
      searchField(t('accounts.search'), query.search, (next) =>
        router.go('/customers', { show: 'accounts', search: next }, { replace: true }),
      ),
    ),
    found ? list(found.results, router) : h('p.card.nothing', t('accounts.hint')),
    found?.isMore ? h('p.pager', t('accounts.more', { n: LIMIT })) : null,
  ];
}

function list(results, router) {
  const isMine = (account) => !account.isOperator || runs('admins');
  const path = (account) => `/customers/${account.objectId}`;
  const shown = table(
    [
      {
        title: t('customer.name'),
        lead: true,
        cell: (account) => {
          const name = accountName(account);
          return isMine(account) ? h('a', { href: router.href(path(account)) }, name) : name;
        },
      },
      { title: t('customer.email'), cell: (account) => account.email ?? account.username ?? '' },
      { title: t('account.role'), cell: (account) => (account.isOperator ? operatorTag() : '') },
      { title: t('account.since'), cell: (account) => date(account.createdAt) },
    ],
    {
      label: t('accounts.list'),
      id: (account) => account.objectId,
      empty: t('accounts.none'),
      open: (account) => isMine(account) && router.go(path(account)),
    },
  );
  shown.rows = results;
  return shown;
}

export function operatorTag() {
  return h('span.tag.calm', t('account.operator'));
}
