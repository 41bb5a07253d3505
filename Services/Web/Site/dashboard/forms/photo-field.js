// A photo that can be replaced, cropped and removed; it is uploaded when the form is saved.

import { fill, h } from '../../shared/dom.js';
import { field } from '../../shared/elements/dialog.js';
import { failure } from '../../shared/elements/toast.js';
import { percent } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';
import { fieldError } from '../../shared/problems.js';
import { upload } from '../../shared/upload.js';

const BYTES_MAX = 10 << 20;

/**
 * @param url the current photo, or nothing.
 * @param name the subject of the photo.
 * @param onchange is called with the URL of the shown photo, or null.
 * @returns `{ element, value() }`: `value` uploads and returns a File value, null for removal, undefined for no change.
 */
export function photoField(url, name, onchange = () => {}) {
  const picture = h('div.photo');
  const bar = h('progress', { max: 1, value: 0, hidden: true, 'aria-label': t('productNew.uploading') });
  // `original` is the chosen file or the server's photo; `file` is the one to upload, whole or cropped.
  let original = null;
  let file = null;
  let chosen = null;
  let sent = null;
  let isRemoved = false;
  let local = null;
  // Shows the form that the photo was changed.
  const state = h('input', { type: 'hidden', name: 'photoState' });

  function draw() {
    if (local) URL.revokeObjectURL(local);
    local = file ? URL.createObjectURL(file) : null;
    const shown = local ?? (isRemoved ? null : (url ?? null));
    fill(
      picture,
      shown ? h('img', { src: shown, alt: name || t('product.photo') }) : h('p.nothing', t('photo.none')),
      h(
        'div.actions',
        file || isOurs(shown) ? h('button.crop', { type: 'button', onclick: crop }, t('crop.action')) : null,
        shown ? h('button.quiet', { type: 'button', onclick: remove }, t('photo.remove')) : null,
      ),
    );
    const now = isRemoved ? 'removed' : file ? `${file.name} ${file.size}` : '';
    if (now !== state.value) {
      state.value = now;
      state.dispatchEvent(new Event('change', { bubbles: true }));
    }
    onchange(shown);
  }
  function take(next) {
    original = next;
    file = next;
    chosen = null;
    draw();
  }
  async function crop() {
    try {
      // The module is loaded only for cropping.
      const { cropPhoto } = await import('./crop-photo.js');
      original ??= await fetched(url);
      const part = await cropPhoto(original, chosen);
      if (!part || part.file === (file ?? original)) return;
      ({ file, chosen } = part);
      draw();
      picture.querySelector('.crop').focus();
    } catch (error) {
      failure(error);
    }
  }
  function remove() {
    if (!file) isRemoved = true;
    input.querySelector('input').value = '';
    take(null);
    input.querySelector('input').focus();
  }
  const input = field({
    name: 'photo',
    label: t('photo.choose'),
    type: 'file',
    accept: 'image/jpeg,image/png,image/webp',
    onchange: (event) => take(event.target.files[0] ?? null),
  });
  draw();

  return {
    element: h('div.stack', picture, input, bar, state),
    async value() {
      if (!file) return isRemoved && url ? null : undefined;
      // A retry after a refusal needs no second upload.
      if (sent?.of === file) return sent.value;
      if (file.size > BYTES_MAX) throw fieldError('photo', t('productNew.photoTooLarge'));
      const going = file;
      bar.hidden = false;
      try {
        const value = await upload(going, (share) => {
          bar.value = share;
          bar.setAttribute('aria-valuetext', percent(share));
        });
        sent = { of: going, value };
        return value;
      } finally {
        bar.hidden = true;
      }
    },
  };
}

/** Whether a photo has the page's origin; the page may not load others. */
function isOurs(url) {
  return Boolean(url) && new URL(url, location.href).origin === location.origin;
}

/** The server's photo as a file, named without the server's prefix. */
async function fetched(url) {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(t('crop.unreadable'));
  const bytes = await answer.blob();
  const name = decodeURIComponent(new URL(url, location.href).pathname.split('/').at(-1)).replace(/^[0-9a-f]{8,}_/, '');
  return new File([bytes], name, { type: bytes.type });
}
