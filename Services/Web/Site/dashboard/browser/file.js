// The editor of a file cell: view, replace or remove the file.

import { h } from '../../shared/dom.js';
import { dialog, field } from '../../shared/elements/dialog.js';
import { percent } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';
import { upload } from '../../shared/upload.js';

/** @param save is called with the File value; undefined removes it. */
export function editFile(column, value, save) {
  const bar = h('progress', { max: 1, value: 0, hidden: true, 'aria-label': t('productNew.uploading') });
  const current = value
    ? h('p', value.url ? h('a', { href: value.url, target: '_blank', rel: 'noreferrer' }, value.name) : value.name)
    : h('p.hint', t('data.noValue'));
  return dialog({
    title: column.name,
    content: [
      current,
      field({ name: 'file', type: 'file', label: t('file.choose') }),
      value ? field({ name: 'remove', type: 'checkbox', label: t('file.remove') }) : null,
      bar,
    ],
    async submit({ file, remove }) {
      if (file?.size) {
        bar.hidden = false;
        const sent = await upload(file, (share) => {
          bar.value = share;
          bar.setAttribute('aria-valuetext', percent(share));
        }).finally(() => {
          bar.hidden = true;
        });
        return save(sent);
      }
      return remove === 'on' ? save(undefined) : undefined;
    },
  });
}
