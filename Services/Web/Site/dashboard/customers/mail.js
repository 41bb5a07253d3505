// Mails that operators write to customers: the dialog, and the mails that were sent.

import { find, run } from '../../shared/api.js';
import { h } from '../../shared/dom.js';
import { dialog } from '../../shared/elements/dialog.js';
import { toast } from '../../shared/elements/toast.js';
import { dateTime } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';
import { fieldError } from '../../shared/problems.js';

/** Characters of a text: each takes at most four of the server's 4,000 bytes. */
const LENGTH = 1000;
const LISTED = 50;

/**
 * @param to `{ orderId }` or `{ userId }`.
 * @param subject the suggested subject.
 * @returns the kept mail; null when the dialog was dismissed.
 */
export function writeMail(to, subject) {
  return dialog({
    title: t('customerMail.title'),
    text: t('customerMail.text'),
    confirm: t('customerMail.send'),
    fields: [
      { name: 'subject', label: t('customerMail.subject'), required: true, maxlength: 50, value: subject },
      { name: 'text', label: t('customerMail.body'), type: 'textarea', rows: 8, required: true, maxlength: LENGTH },
    ],
    async submit(values) {
      const wanted = { subject: values.subject.trim(), text: values.text.trim().replaceAll('\r\n', '\n') };
      for (const name of ['subject', 'text']) if (!wanted[name]) throw fieldError(name, t('customerMail.empty'));
      const kept = await run('mailCustomer', { ...to, ...wanted });
      toast(t('customerMail.sent'));
      return kept;
    },
  });
}

export function mailButton(to, subject, redraw) {
  const write = () => writeMail(to, subject).then((done) => done && redraw());
  return h('button', { type: 'button', onclick: write }, t('customerMail.write'));
}

/** The mails to a customer, newest first; null when there are none. */
export async function mailsTo(userId, signal) {
  const customer = { __type: 'Pointer', className: '_User', objectId: userId };
  const where = { customer, subject: { $exists: true } };
  const found = await find('OrderDeskNote', { where, order: '-createdAt', limit: LISTED, signal });
  if (!found.results.length) return null;
  return h(
    'section.card',
    h('header', h('h2', t('customerMail.list'))),
    h(
      'ul.rows',
      found.results.map(({ subject, text, authorName, createdAt }) =>
        h(
          'li',
          h(
            'div.grow',
            h('strong', subject),
            h('p.soft.small', `${dateTime(createdAt)} · ${authorName || t('orderNote.nobody')}`),
            h('p.small.address', text),
          ),
        ),
      ),
    ),
  );
}
