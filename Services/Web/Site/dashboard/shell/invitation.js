// The page of a mailed invitation: the invited person chooses a name and a password. The token is behind `#`, so that
// no server logs it.

import { run } from '../../shared/api.js';
import { h } from '../../shared/dom.js';
import { field } from '../../shared/elements/dialog.js';
import { attend } from '../../shared/elements/form.js';
import { t } from '../../shared/i18n.js';
import { fieldError, problemLine } from '../../shared/problems.js';
import { server } from '../../shared/settings.js';

/** The token in the part of the address behind the path; empty if there is none. */
export function tokenOf(hash) {
  return /^#([0-9a-f]{32})$/.exec(hash)?.[1] ?? '';
}

/** @param done is called with the user name after the invitation was accepted. */
export function invitation({ token, done }) {
  const problem = problemLine();
  const send = h('button.primary', { type: 'submit' }, t('invitation.send'));
  const secret = { type: 'password', required: true, autocomplete: 'new-password', maxlength: 1024 };
  const form = h(
    'form',
    field({ name: 'name', label: t('invitation.name'), required: true, autocomplete: 'name', maxlength: 100 }),
    field({ ...secret, name: 'password', label: t('invitation.password') }),
    field({ ...secret, name: 'again', label: t('invitation.again') }),
    problem.element,
    send,
  );

  async function submit() {
    const { name, password, again } = Object.fromEntries(new FormData(form));
    if (password !== again) throw fieldError('again', t('own.notSame'));
    const { username } = await run('acceptOperatorInvitation', { token, name: name.trim(), password }).catch(
      (error) => {
        throw error.code === 101 ? new Error(t('invitation.void'), { cause: error }) : error;
      },
    );
    done(username);
  }
  attend(form, { problem, send, submit });

  return h(
    'main.entry',
    h(
      'div.card',
      h('div.mark', { 'aria-hidden': 'true' }),
      h('h1', t('invitation.title')),
      token
        ? [h('p.soft', t('invitation.text', { shop: server.shop })), form]
        : h('p.problem', { role: 'alert' }, t('invitation.void')),
    ),
  );
}
