// Internal notes of operators on an order or a customer. The customer does not see them.

import { run } from '../../shared/api.js';
import { fill, h } from '../../shared/dom.js';
import { dialog, field } from '../../shared/elements/dialog.js';
import { errorText, toast } from '../../shared/elements/toast.js';
import { t } from '../../shared/i18n.js';

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
  const remove = () =>
    removeNote(text, () => run('removeOrderNote', { noteId: note.objectId })).then((done) => done && redraw());
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

/** Asks, and calls `send` to remove the note. */
export function removeNote(text, send) {
  return dialog({
    title: t('orderNote.removeTitle'),
    text: text.slice(0, 200),
    confirm: t('orderNote.remove'),
    isDanger: true,
    async submit() {
      await send();
      toast(t('orderNote.removed'));
    },
  });
}

/**
 * The form for a new note.
 * @param add sends the text.
 */
export function noteForm(add, redraw) {
  const problem = h('p.problem', { role: 'alert' });
  const send = h('button', { type: 'submit' }, t('orderNote.add'));
  const form = h(
    'form.stack',
    { onsubmit: submit },
    field({
      name: 'text',
      label: t('orderNote.text'),
      hint: t('orderNote.hint'),
      type: 'textarea',
      rows: 2,
      required: true,
      maxlength: LENGTH,
    }),
    problem,
    h('div.actions', send),
  );

  async function submit(event) {
    event.preventDefault();
    const text = new FormData(form).get('text').trim().replaceAll('\r\n', '\n');
    if (!text) return;
    fill(problem);
    send.disabled = true;
    try {
      await add(text);
      await redraw();
      toast(t('orderNote.added'));
    } catch (error) {
      fill(problem, errorText(error));
      send.disabled = false;
    }
  }
  return form;
}
