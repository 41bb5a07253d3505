// One account for operators who manage accounts: its data, edited in a dialog, and its deletion, confirmed after a list
// of the consequences.

import { run } from '../../shared/api.js';
import { h } from '../../shared/dom.js';
import { dialog } from '../../shared/elements/dialog.js';
import { toast } from '../../shared/elements/toast.js';
import { date, number } from '../../shared/format.js';
import { hasText, t } from '../../shared/i18n.js';
import { fieldError } from '../../shared/problems.js';
import { confirmTyped } from '../forms/confirm-typed.js';
import { stateOf } from '../orders/shared.js';
import { runs } from '../shell/areas.js';
import { accountName, operatorTag } from './accounts.js';

/** Sign-in methods with a text of their own; for others the server's name is shown. */
const wayName = (way) => (hasText(`account.way.${way}`) ? t(`account.way.${way}`) : way);

/**
 * @param known `{ orders, count, sessions }` of the same person, for the consequences of a deletion.
 * @param after callbacks `{ edited(), deleted() }`.
 */
export function accountCard(account, known, after) {
  const row = (title, value) => (value ? h('div', h('dt', title), h('dd', value)) : null);
  const town = [account.zipcode, account.city, account.state].filter(Boolean).join(' ');
  const address = [account.address1, account.address2, town].filter(Boolean).join(', ');
  const tag = account.isOperator ? operatorTag() : account.isBanned ? h('span.tag.bad', t('account.banned')) : null;
  return h(
    'section.card.stack',
    h('header', h('h2', t('account.title')), tag),
    h(
      'dl.facts',
      row(t('customer.email'), account.email ? [account.email, ' ', verified(account)] : null),
      row(t('account.username'), account.username === account.email || account.isAnonymous ? null : account.username),
      row(t('customer.phone'), account.phone),
      row(t('account.address'), address),
      row(t('account.signsIn'), account.signsInWith.map(wayName).join(', ')),
      row(t('account.since'), date(account.createdAt)),
    ),
    h(
      'div.actions',
      h(
        'button',
        { type: 'button', onclick: () => edit(account, after.edited).then((done) => done && after.edited()) },
        t('account.edit'),
      ),
      account.isOperator
        ? h('p.hint', t('account.operatorHint'))
        : h(
            'button.danger',
            { type: 'button', onclick: () => remove(account, known).then((done) => done && after.deleted()) },
            t('account.delete'),
          ),
    ),
  );
}

function verified({ emailVerified }) {
  if (emailVerified === undefined) return null;
  return h(`span.tag.${emailVerified ? 'good' : 'warn'}`, t(emailVerified ? 'account.verified' : 'account.unverified'));
}

const names = ['firstName', 'lastName', 'name', 'phone'];

function edit(account, redraw) {
  // An operator who can change the address could have the password reset, so that only admins may.
  const fields = [...names, ...(runs('admins') ? ['email'] : [])];
  return dialog({
    title: t('account.editTitle', { name: accountName(account) }),
    text: runs('admins') ? t('account.editText') : null,
    fields: fields.map((name) => ({
      name,
      label: t(`account.field.${name}`),
      value: account[name],
      maxlength: 200,
      inputmode: { email: 'email', phone: 'tel' }[name],
    })),
    async submit(values) {
      const entries = fields.map((name) => [name, values[name].trim()]);
      const changed = entries.filter(([name, text]) => text !== (account[name] ?? ''));
      if (changed.some(([name, text]) => name === 'email' && !text)) throw fieldError('email', t('account.keepsEmail'));
      if (!changed.length) return;
      await run('updateAccount', { userId: account.objectId, ...Object.fromEntries(changed) });
      const takeBack = async () => {
        const before = changed.map(([name]) => [name, account[name] ?? '']);
        await run('updateAccount', { userId: account.objectId, ...Object.fromEntries(before) });
        await redraw();
      };
      // A changed address has to be verified again.
      toast(t('account.saved'), 'good', changed.some(([name]) => name === 'email') ? null : takeBack);
    },
  });
}

function remove(account, { orders, count, sessions }) {
  const unsent = orders.filter((order) => stateOf(order) === 'made').length;
  const lines = [
    t('account.ends.sessions', { n: sessions.length }),
    t('account.ends.own'),
    count ? t('account.ends.orders', { n: count, count: number(count) }) : null,
    t('account.ends.reviews'),
    t('account.ends.name'),
  ];
  return confirmTyped({
    title: t('account.deleteTitle', { name: accountName(account) }),
    text: t('account.deleteText'),
    content: [
      h(
        'ul.bullets',
        lines.filter(Boolean).map((line) => h('li', line)),
      ),
      unsent ? h('p.problem', t('account.ends.unsent', { n: unsent })) : null,
    ],
    word: account.email ?? account.username,
    confirm: t('account.delete'),
    async done() {
      await run('deleteAccount', { userId: account.objectId });
      toast(t('account.deleted'));
    },
  });
}
