// One mail as it was sent: its HTML part in a frame without scripts, and its text part.

import { headers } from '../../../shared/api.js';
import { h } from '../../../shared/dom.js';
import { dateTime } from '../../../shared/format.js';
import { hasText, t } from '../../../shared/i18n.js';
import { server } from '../../../shared/settings.js';
import { heading } from '../../lists/listing.js';
import { askIfThere } from '../../shell/areas.js';

/** Keys and session as a form posts them: a frame sends no headers. */
const names = {
  'X-Parse-Application-Id': '_ApplicationId',
  'X-Parse-Javascript-Key': '_JavaScriptKey',
  'X-Parse-Session-Token': '_SessionToken',
};

export async function render({ params, router, signal }) {
  const back = h('p', h('a.back', { href: router.href('/mails') }, t('mails.title')));
  const id = Number(params.id);
  let mail;
  try {
    mail = await askIfThere('mailContent', { id }, signal);
  } catch (error) {
    if (![119, 142].includes(error.code)) throw error;
    return [back, heading(t('mail.one')), h('p', t(error.isForbidden ? 'mail.admins' : 'mail.gone'))];
  }
  return [
    back,
    heading(mail.subject),
    h(
      'dl.facts',
      [
        [t('mails.to'), mail.to],
        [t('mail.from'), mail.from],
        [t('order.date'), dateTime(mail.queuedAt)],
        mail.attachments.length ? [t('mail.attachments'), mail.attachments.join(', ')] : null,
      ].map((fact) => fact && h('div', h('dt', fact[0]), h('dd', fact[1]))),
    ),
    hasText(`mail.secret.${mail.template}`) ? h('p.soft', t(`mail.secret.${mail.template}`)) : null,
    mail.html ? h('section.card', h('header', h('h2', t('mail.html'))), frame(id)) : null,
    mail.text ? h('section.card', h('header', h('h2', t('mail.text'))), h('pre.mail', mail.text)) : null,
  ];
}

function frame(id) {
  const name = `mail-${id}`;
  const view = h('iframe.mail', { name, title: t('mail.html'), sandbox: true });
  const fields = Object.entries(headers())
    .filter(([header]) => names[header])
    .map(([header, value]) => h('input', { type: 'hidden', name: names[header], value }));
  const form = h('form', { method: 'post', action: `${server.mount}/mails/${id}`, target: name, hidden: true }, fields);
  // The form is sent once the page shows it and its frame.
  setTimeout(() => {
    if (form.isConnected) form.submit();
    form.remove();
  });
  return [form, view];
}
