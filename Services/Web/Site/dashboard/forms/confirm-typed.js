// The confirmation of an irreversible action: the operator types the name of the object.

import { dialog, field } from '../../shared/elements/dialog.js';
import { t } from '../../shared/i18n.js';
import { fieldError } from '../../shared/problems.js';

/**
 * Asks for a name before an irreversible deletion.
 * @param options `{ title, text, content, word, confirm, done }`; `content` is shown above the field, `done` runs the
 *   action.
 */
export function confirmTyped({ title, text, content = null, word, confirm, done }) {
  return dialog({
    title,
    text,
    content: [content, field({ name: 'word', label: t('schema.typeName', { name: word }), required: true })],
    confirm,
    isDanger: true,
    isBrief: true,
    async submit({ word: typed }) {
      if (typed.trim() !== word) throw fieldError('word', t('schema.otherName'));
      await done();
    },
  });
}
