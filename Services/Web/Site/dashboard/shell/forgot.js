// Asks for the mail with a link to a new password. The answer is the same whether an account has the address.

import { call } from '../../shared/api.js';
import { dialog } from '../../shared/elements/dialog.js';
import { toast } from '../../shared/elements/toast.js';
import { t } from '../../shared/i18n.js';

/** @param name the name typed in the sign-in form. */
export function askForReset(name) {
  return dialog({
    title: t('forgot.title'),
    text: t('forgot.text'),
    confirm: t('forgot.send'),
    isBrief: true,
    fields: [
      {
        name: 'email',
        type: 'email',
        label: t('forgot.email'),
        value: name.includes('@') ? name : '',
        required: true,
        autocomplete: 'email',
        maxlength: 254,
      },
    ],
    async submit({ email }) {
      await call('POST', '/requestPasswordReset', { body: { email: email.trim() } });
      toast(t('forgot.sent'));
    },
  });
}
