// The tags and notes of a customer, which only operators see.

import { auth, run } from '../../shared/api.js';
import { h } from '../../shared/dom.js';
import { dialog } from '../../shared/elements/dialog.js';
import { toast } from '../../shared/elements/toast.js';
import { dateTime } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';
import { noteForm, removeNote } from '../orders/notes.js';
import { runs } from '../shell/areas.js';

/** Characters of all tags in the dialog. */
const LENGTH = 1000;

/** The tags in a text that separates them by commas. */
export function tagsOf(text) {
  const tags = text.split(',').map((tag) => tag.trim().replace(/\s+/g, ' '));
  return [...new Set(tags.filter(Boolean))];
}

export function tagList(tags) {
  return tags.flatMap((tag) => [h('span.tag', tag), ' ']);
}

/**
 * @param customer the row of `customers` with its notes; undefined for a person without orders, tags and notes.
 * @param redraw redraws the view after a change.
 */
export function marksCard(customerId, customer, redraw) {
  const { tags = [], notes = [] } = customer ?? {};
  const edit = () => editTags(customerId, tags).then((done) => done && redraw());
  return h(
    'section.card.stack',
    h('header', h('h2', t('customer.marks'))),
    h('p', tags.length ? tagList(tags) : h('span.soft', t('customer.noTags'))),
    h('div.actions', h('button', { type: 'button', onclick: edit }, t('customer.editTags'))),
    notes.length
      ? h(
          'ul.rows',
          notes.map((note) => noteRow(note, redraw)),
        )
      : null,
    noteForm(`note ${customerId}`, (text) => run('addCustomerNote', { customerId, text }), redraw),
  );
}

function editTags(customerId, tags) {
  return dialog({
    title: t('customer.editTags'),
    fields: [
      {
        name: 'tags',
        label: t('customer.tags'),
        hint: t('customer.tagsHint'),
        value: tags.join(', '),
        maxlength: LENGTH,
      },
    ],
    async submit(values) {
      await run('setCustomerTags', { customerId, tags: tagsOf(values.tags) });
      toast(t('customer.tagsSaved'));
    },
  });
}

function noteRow(note, redraw) {
  const isMine = runs() || (!!note.authorId && note.authorId === auth.current?.user.objectId);
  const remove = () =>
    removeNote(note.text, () => run('removeCustomerNote', { noteId: note.noteId })).then((done) => done && redraw());
  const who = t('orderNote.by', { name: note.authorName ?? t('orderNote.nobody') });
  return h(
    'li',
    h('div.grow', h('p.address', note.text), h('p.soft.small', `${who} · ${dateTime(note.createdAt)}`)),
    isMine
      ? h(
          'button.quiet',
          {
            type: 'button',
            'aria-label': `${t('orderNote.remove')}: ${note.text.slice(0, 40)}`,
            onclick: remove,
          },
          t('orderNote.remove'),
        )
      : null,
  );
}
