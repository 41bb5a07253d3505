// Every account, also of people who never ordered: newest first, or those whose name or address begins with the search
// text. For admins and support; only admins can open operators' accounts.

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
  const after = query.after ? { after: query.after } : {};
  const found = isLong
    ? await ask('accounts', { search, limit: LIMIT }, signal)
    : await ask('allAccounts', { limit: LIMIT, ...after }, signal);
  const page = (cursor) => router.href('/customers', { show: 'accounts', after: cursor });
  return [
    h(
      'div.bar',
      searchField(t('accounts.search'), query.search, (next) =>
        router.go('/customers', { show: 'accounts', search: next }, { replace: true }),
      ),
    ),
    isLong ? null : h('p.hint.spaced', t('accounts.hint')),
    list(found.results, router),
    found.isMore ? h('p.pager', t('accounts.more', { n: LIMIT })) : null,
    isLong
      ? null
      : h(
          'p.actions',
          query.after ? h('a.button', { href: page('') }, t('accounts.newest')) : null,
          found.cursor ? h('a.button', { href: page(found.cursor) }, t('accounts.older')) : null,
        ),
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
      { title: t('account.role'), cell: role },
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

function role({ isOperator, isAnonymous }) {
  if (isAnonymous) return h('span.soft', t('account.way.anonymous'));
  return isOperator ? operatorTag() : '';
}

export function operatorTag() {
  return h('span.tag.calm', t('account.operator'));
}
