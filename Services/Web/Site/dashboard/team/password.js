// The operator's own password.

import { auth, run } from '../../shared/api.js';
import { dialog } from '../../shared/elements/dialog.js';
import { toast } from '../../shared/elements/toast.js';
import { t } from '../../shared/i18n.js';
import { endListening } from '../../shared/live/live.js';
import { fieldError } from '../../shared/problems.js';

export const passwordField = (name, label, autocomplete = 'current-password') => ({
  name,
  type: 'password',
  label: t(label),
  required: true,
  autocomplete,
  maxlength: 1024,
});

/** Runs a function that checks the field `password`, with texts for a wrong password or code. */
export async function proven(name, parameters) {
  try {
    return await run(name, parameters);
  } catch (error) {
    const text = reason(error);
    if (!text) throw error;
    throw error.code === 101 ? fieldError('password', text) : new Error(text, { cause: error });
  }
}

/** Null for errors that explain themselves. */
export function reason({ code, message }) {
  if (code === 101) return /locked/i.test(message) ? message : t('own.wrongPassword');
  return code === 141 ? t('signIn.wrongCode') : null;
}

/** @returns whether the password was changed. The session continues with another token. */
export function changePassword() {
  return dialog({
    title: t('own.changePassword'),
    text: t('own.changeText'),
    fields: [
      passwordField('password', 'own.password'),
      passwordField('newPassword', 'own.newPassword', 'new-password'),
      passwordField('again', 'own.again', 'new-password'),
    ],
    async submit({ password, newPassword, again }) {
      if (newPassword !== again) throw fieldError('again', t('own.notSame'));
      // The server ends the session, and the connection for live changes would report that.
      endListening();
      const { sessionToken } = await proven('changeOperatorPassword', { oldPassword: password, newPassword });
      auth.renew(sessionToken);
      toast(t('own.changed'));
    },
  });
}
