// The team, for admins: operators with roles, sessions and second factors, and the open invitations.

import { ask, auth, run } from '../../shared/api.js';
import { h } from '../../shared/dom.js';
import { table } from '../../shared/elements/table.js';
import { failure, toast } from '../../shared/elements/toast.js';
import { date, dateTime, number } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';
import { counted, heading } from '../lists/listing.js';
import { invite, remove, resetFactor, showSessions } from '../team/actions.js';
import { operatorName, roleText } from '../team/roles.js';

export async function render({ signal, redraw }) {
  const { operators, invitations } = await ask('operators', {}, signal);
  const begin = h(
    'button.primary',
    { type: 'button', onclick: () => invite().then((done) => done && redraw()) },
    t('team.invite'),
  );
  return [
    heading(t('area.team'), counted('team.count', operators.length), begin),
    operatorTable(operators, redraw),
    h('h2.spaced', t('team.invitations')),
    invitationTable(invitations, redraw),
  ];
}

function operatorTable(operators, redraw) {
  const own = auth.current?.user.objectId;
  const action = (key, operator, work) =>
    button(key, operatorName(operator), async () => ((await work(operator)) ? redraw() : null));
  const shown = table(
    [
      {
        title: t('customer.name'),
        lead: true,
        cell: (operator) => [
          operatorName(operator),
          operator.username === operatorName(operator) ? null : h('span.soft.small', ` ${operator.username}`),
        ],
      },
      { title: t('account.role'), cell: ({ roles }) => roles.map(roleText).join(', ') },
      { title: t('team.lastSeen'), cell: ({ lastSeenAt }) => (lastSeenAt ? dateTime(lastSeenAt) : t('team.never')) },
      {
        title: t('team.factor'),
        cell: ({ hasSecondFactor }) =>
          h(`span.tag.${hasSecondFactor ? 'good' : 'warn'}`, t(hasSecondFactor ? 'team.factorOn' : 'team.factorOff')),
      },
      { title: t('team.sessions'), end: true, cell: ({ sessions }) => number(sessions) },
      {
        title: t('table.actions'),
        end: true,
        cell: (operator) => [
          action('team.sessions', operator, showSessions),
          operator.hasSecondFactor && operator.objectId !== own ? action('team.reset', operator, resetFactor) : null,
          action('team.remove', operator, remove),
        ],
      },
    ],
    { label: t('area.team'), id: ({ objectId }) => objectId },
  );
  shown.rows = operators;
  return shown;
}

function invitationTable(invitations, redraw) {
  const action = (key, { invitationId, email }, name, done) =>
    button(key, email, async () => {
      await run(name, { invitationId });
      toast(t(done, { email }));
      redraw();
    });
  const shown = table(
    [
      { title: t('team.email'), lead: true, cell: ({ email }) => email },
      { title: t('account.role'), cell: ({ role }) => roleText(role) },
      { title: t('team.invitedBy'), cell: ({ invitedBy }) => invitedBy || t('team.masterKey') },
      {
        title: t('team.until'),
        cell: ({ expiresAt, isExpired }) => (isExpired ? h('span.tag.warn', t('team.expired')) : date(expiresAt)),
      },
      {
        title: t('table.actions'),
        end: true,
        cell: (invitation) => [
          action('team.resend', invitation, 'resendOperatorInvitation', 'team.invited'),
          action('team.revoke', invitation, 'revokeOperatorInvitation', 'team.revoked'),
        ],
      },
    ],
    { label: t('team.invitations'), id: ({ invitationId }) => invitationId, empty: t('team.noInvitations') },
  );
  shown.rows = invitations;
  return shown;
}

function button(key, about, work) {
  const press = () => work().catch(failure);
  return h('button.quiet', { type: 'button', 'aria-label': `${t(key)}: ${about}`, onclick: press }, t(key));
}
