// The operator's own second factor: an authenticator app with a secret that this page makes.

import { auth } from '../../shared/api.js';
import { h } from '../../shared/dom.js';
import { dialog } from '../../shared/elements/dialog.js';
import { toast } from '../../shared/elements/toast.js';
import { t } from '../../shared/i18n.js';
import { server } from '../../shared/settings.js';
import { passwordField, proven } from './password.js';

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** A secret of 160 random bits in Base32, as RFC 4226 recommends. */
export function newSecret() {
  return [...crypto.getRandomValues(new Uint8Array(32))].map((byte) => LETTERS[byte & 31]).join('');
}

/** Groups of four characters, which people can type. */
export function grouped(secret) {
  return secret.match(/.{1,4}/g).join(' ');
}

/** The link that authenticator apps open; their defaults are SHA-1, six digits and 30 seconds. */
function appLink(secret) {
  const shop = encodeURIComponent(server.shop);
  const label = `${shop}:${encodeURIComponent(auth.current?.user.name ?? '')}`;
  return `otpauth://totp/${label}?secret=${secret}&issuer=${shop}`;
}

/** @returns whether the second factor is set. */
export async function setFactor(isOn) {
  const secret = newSecret();
  const done = await dialog({
    title: t('own.factorTitle'),
    content: [
      h('p', t('own.factorText')),
      h('p', h('code.words', { tabindex: 0, 'aria-label': t('own.secret') }, grouped(secret))),
      h('p.small', Object.assign(h('a', t('own.openApp')), { href: appLink(secret) })),
    ],
    confirm: t('own.factorSet'),
    fields: [
      codeField('token', 'own.newCode'),
      ...(isOn ? [codeField('code', 'own.oldCode')] : []),
      passwordField('password', 'own.password'),
    ],
    submit: ({ token, code, password }) =>
      proven('setOperatorFactor', { password, secret, token: bare(token), ...(isOn ? { code: bare(code) } : {}) }),
  });
  if (!done) return false;
  await dialog({
    title: t('own.recoveryTitle'),
    text: t('own.recoveryText'),
    content: h(
      'ul.bullets',
      done.recoveryCodes.map((code) => h('li', h('code.words', code))),
    ),
    confirm: t('own.recoveryKept'),
    cancel: t('action.close'),
    submit: () => true,
  });
  return true;
}

/** @returns whether the second factor was removed. */
export function removeFactor() {
  return dialog({
    title: t('own.factorOffTitle'),
    text: t('own.factorOffText'),
    confirm: t('own.factorRemove'),
    isDanger: true,
    fields: [codeField('code', 'own.oldCode'), passwordField('password', 'own.password')],
    async submit({ code, password }) {
      await proven('setOperatorFactor', { password, code: bare(code) });
      toast(t('own.factorRemoved'));
    },
  });
}

const codeField = (name, label) => ({
  name,
  label: t(label),
  required: true,
  autocomplete: 'one-time-code',
  maxlength: 64,
});

const bare = (code) => code.replace(/\s/g, '');
