// A photo that is there, can be changed for another and be taken away; it is sent when the form is.

import { fill, h } from '../shared/dom.js';
import { field } from '../shared/elements/dialog.js';
import { percent } from '../shared/format.js';
import { t } from '../shared/i18n.js';
import { upload } from '../shared/upload.js';

const BYTES_MAX = 10 << 20;

/**
 * @param url the photo that there is, or nothing.
 * @param name what is on it.
 * @param onchange is told the address of what is to be seen, or null.
 * @returns `{ element, value() }`: `value` uploads and answers a File value, null for none, undefined for no change.
 */
export function photoField(url, name, onchange = () => {}) {
  const picture = h('div.photo');
  const bar = h('progress', { max: 1, value: 0, hidden: true, 'aria-label': t('productNew.uploading') });
  let file = null;
  let sent = null;
  let isRemoved = false;
  let local = null;

  function draw() {
    if (local) URL.revokeObjectURL(local);
    local = file ? URL.createObjectURL(file) : null;
    const shown = local ?? (isRemoved ? null : (url ?? null));
    fill(
      picture,
      shown ? h('img', { src: shown, alt: name || t('product.photo') }) : h('p.nothing', t('photo.none')),
      shown ? h('button.quiet', { type: 'button', onclick: remove }, t('photo.remove')) : null,
    );
    onchange(shown);
  }
  function remove() {
    if (file) file = null;
    else isRemoved = true;
    input.querySelector('input').value = '';
    draw();
    input.querySelector('input').focus();
  }
  const input = field({
    name: 'photo',
    label: t('photo.choose'),
    type: 'file',
    accept: 'image/jpeg,image/png,image/webp',
    onchange: (event) => {
      file = event.target.files[0] ?? null;
      draw();
    },
  });
  draw();

  return {
    element: h('div.stack', picture, input, bar),
    async value() {
      if (!file) return isRemoved && url ? null : undefined;
      // Another try after a refusal needs no second upload.
      if (sent?.of === file) return sent.value;
      if (file.size > BYTES_MAX) throw new Error(t('productNew.photoTooLarge'));
      bar.hidden = false;
      try {
        const value = await upload(file, (share) => {
          bar.value = share;
          bar.setAttribute('aria-valuetext', percent(share));
        });
        sent = { of: file, value };
        return value;
      } finally {
        bar.hidden = true;
      }
    },
  };
}
