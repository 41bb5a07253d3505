// What admins do with operators and invitations, each in a dialog.

import { ask, run } from '../../shared/api.js';
import { h } from '../../shared/dom.js';
import { dialog } from '../../shared/elements/dialog.js';
import { failure, toast } from '../../shared/elements/toast.js';
import { date, dateTime } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';
import { operatorName, roleNames, roleText } from './roles.js';

/** @returns whether an invitation was mailed. */
export function invite() {
  return dialog({
    title: t('team.invite'),
    text: t('team.inviteText'),
    confirm: t('team.inviteSend'),
    fields: [
      { name: 'email', type: 'email', label: t('team.email'), required: true, maxlength: 254 },
      {
        name: 'role',
        type: 'select',
        label: t('account.role'),
        required: true,
        hint: t('team.roleHint'),
        options: roleNames.map((role) => [role, roleText(role)]),
      },
    ],
    async submit({ email, role }) {
      await run('inviteOperator', { email: email.trim(), role });
      toast(t('team.invited', { email: email.trim() }));
    },
  });
}

/** @returns whether the operator was removed. */
export function remove(operator) {
  const name = operatorName(operator);
  return dialog({
    title: t('team.removeTitle', { name }),
    text: t('team.removeText'),
    confirm: t('team.remove'),
    isDanger: true,
    async submit() {
      try {
        await run('removeOperator', { userId: operator.objectId });
      } catch (error) {
        if (error.isForbidden && /last admin/i.test(error.message)) throw new Error(t('team.lastAdmin'));
        throw error;
      }
      toast(t('team.removed', { name }));
    },
  });
}

/** @returns whether the second factor was removed. */
export function resetFactor(operator) {
  const name = operatorName(operator);
  return dialog({
    title: t('team.resetTitle', { name }),
    text: t('team.resetText'),
    confirm: t('team.reset'),
    isDanger: true,
    async submit() {
      await run('resetOperatorFactor', { userId: operator.objectId });
      toast(t('team.wasReset', { name }));
    },
  });
}

/** @returns whether the sessions were ended. */
export async function showSessions({ objectId: userId, ...operator }) {
  try {
    const sessions = await ask('sessionsOf', { userId });
    return await dialog({
      title: t('team.sessionsOf', { name: operatorName(operator) }),
      content: sessions.length
        ? h(
            'ul.rows',
            sessions.map((session) => sessionRow(session)),
          )
        : h('p.nothing', t('session.none')),
      confirm: t('session.end'),
      isDanger: true,
      async submit() {
        const { revoked } = await run('revokeSessions', { userId });
        toast(t('session.ended', { n: revoked }));
      },
    });
  } catch (error) {
    failure(error);
    return null;
  }
}

/** @param action an element at the end of the row. */
export function sessionRow({ createdAt, expiresAt }, action = null) {
  return h(
    'li',
    h(
      'div.grow',
      h('strong', t('session.since', { date: dateTime(createdAt) })),
      h('p.soft.small', expiresAt ? t('session.until', { date: date(expiresAt) }) : ''),
    ),
    action,
  );
}
