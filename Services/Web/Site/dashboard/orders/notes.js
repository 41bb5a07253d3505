// Internal notes of operators on an order or a customer. The customer does not see them.

import { auth, run } from '../../shared/api.js';
import { h } from '../../shared/dom.js';
import { dialog, field } from '../../shared/elements/dialog.js';
import { attend } from '../../shared/elements/form.js';
import { toast } from '../../shared/elements/toast.js';
import { t } from '../../shared/i18n.js';
import { fieldError, problemLine } from '../../shared/problems.js';
import { settle } from '../../shared/unsaved.js';

/** Characters of a note: each takes at most four of the server's 4,000 bytes. */
const LENGTH = 1000;

/**
 * A note as a step of the timeline; a note with a subject is a mail to the customer, which stays.
 * @param redraw redraws the view after the note was removed; null for another operator's note.
 */
export function noteStep(note, redraw) {
  const who = note.authorName || t('orderNote.nobody');
  const text = note.text ?? '';
  if (note.subject) {
    const title = t('customerMail.by', { name: who, subject: note.subject });
    return [note.createdAt, title, h('span.address', text), 'note'];
  }
  const send = () => run('removeOrderNote', { noteId: note.objectId });
  const takeBack = async () => {
    await run('addOrderNote', { orderId: note.order.objectId, text });
    await redraw();
  };
  // An admin may remove other operators' notes, but not write in their names.
  const isMine = note.author?.objectId === auth.current?.user.objectId;
  const remove = () => removeNote(text, send, isMine ? takeBack : null).then((done) => done && redraw());
  return [
    note.createdAt,
    t('orderNote.by', { name: who }),
    [
      h('span.address', text),
      redraw
        ? h(
            'button.quiet',
            { type: 'button', 'aria-label': `${t('orderNote.remove')}: ${text.slice(0, 40)}`, onclick: remove },
            t('orderNote.remove'),
          )
        : null,
    ],
    'note',
  ];
}

/**
 * Asks, and calls `send` to remove the note.
 * @param takeBack adds the note again; null when that is impossible.
 */
export function removeNote(text, send, takeBack = null) {
  return dialog({
    title: t('orderNote.removeTitle'),
    text: text.slice(0, 200),
    confirm: t('orderNote.remove'),
    isDanger: true,
    async submit() {
      await send();
      toast(t('orderNote.removed'), 'good', takeBack);
    },
  });
}

/**
 * The form for a new note.
 * @param name identifies the form when its view is redrawn.
 * @param add sends the text.
 */
export function noteForm(name, add, redraw) {
  const problem = problemLine();
  const send = h('button', { type: 'submit' }, t('orderNote.add'));
  const form = h(
    'form.stack',
    field({
      name: 'text',
      label: t('orderNote.text'),
      hint: t('orderNote.hint'),
      type: 'textarea',
      rows: 2,
      required: true,
      maxlength: LENGTH,
    }),
    problem.element,
    h('div.actions', send),
  );

  async function submit() {
    const text = new FormData(form).get('text').trim().replaceAll('\r\n', '\n');
    if (!text) throw fieldError('text', t('orderNote.empty'));
    await add(text);
    settle(form);
    await redraw();
    toast(t('orderNote.added'));
  }
  attend(form, { name, problem, send, submit });
  return form;
}
