// Internal notes of operators on an order. The customer does not see them.

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
 * A note as a step of the timeline.
 * @param redraw redraws the view after the note was removed; null for another operator's note.
 */
export function noteStep(note, redraw) {
  const who = note.authorName || t('orderNote.nobody');
  const text = note.text ?? '';
  const remove = () => removeNote(note, redraw).then((done) => done && redraw());
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

function removeNote(note, redraw) {
  // An admin may remove other operators' notes, but not write in their names.
  const isMine = note.author?.objectId === auth.current?.user.objectId;
  const takeBack = async () => {
    await run('addOrderNote', { orderId: note.order.objectId, text: note.text });
    await redraw();
  };
  return dialog({
    title: t('orderNote.removeTitle'),
    text: (note.text ?? '').slice(0, 200),
    confirm: t('orderNote.remove'),
    isDanger: true,
    async submit() {
      await run('removeOrderNote', { noteId: note.objectId });
      toast(t('orderNote.removed'), 'good', isMine ? takeBack : null);
    },
  });
}

/** The form for a new note, below the timeline. */
export function noteForm(order, redraw) {
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
    await run('addOrderNote', { orderId: order.objectId, text });
    settle(form);
    await redraw();
    toast(t('orderNote.added'));
  }
  attend(form, { name: `note ${order.objectId}`, problem, send, submit });
  return form;
}
