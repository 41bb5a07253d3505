// What cannot be taken back is confirmed by typing the name of what goes.

import { dialog, field } from '../shared/elements/dialog.js';
import { t } from '../shared/i18n.js';

/**
 * Asks for a name to be typed before something is gone for good.
 * @param options `{ title, text, content, word, confirm, done }`; `content` stands above the field, `done` does it.
 */
export function confirmTyped({ title, text, content = null, word, confirm, done }) {
  return dialog({
    title,
    text,
    content: [content, field({ name: 'word', label: t('schema.typeName', { name: word }), required: true })],
    confirm,
    isDanger: true,
    async submit({ word: typed }) {
      if (typed.trim() !== word) throw new Error(t('schema.otherName'));
      await done();
    },
  });
}
