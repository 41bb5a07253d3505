// Crops a photo before it is sent. The browser cuts it: the rest of the photo is never uploaded.

import { dialog } from '../../shared/elements/dialog.js';
import '../../shared/elements/crop.js';
import { t } from '../../shared/i18n.js';
import { isWhole, sizeOf } from '../../shared/pictures/part.js';

/** Pixels of the longer side of the cropped picture; every browser's canvas supports this size. */
const SIDE_MAX = 4096;
const QUALITY = 0.9;
const endings = { 'image/jpeg': 'jpg', 'image/png': 'png', 'image/webp': 'webp' };

/**
 * @param photo the chosen file.
 * @param before the earlier selection in it, or nothing.
 * @returns `{ file, chosen }`, the file with the selected part; null when the dialog was dismissed.
 * @throws a translated error for a file that is not a photo.
 */
export async function cropPhoto(photo, before) {
  const bitmap = await createImageBitmap(photo).catch(() => {
    throw new Error(t('crop.unreadable'));
  });
  try {
    const element = document.createElement('s-crop').show(bitmap, before);
    return await dialog({
      title: t('crop.title'),
      content: element,
      confirm: t('crop.confirm'),
      isWide: true,
      submit: async () => ({ file: await cut(photo, bitmap, element.chosen.part), chosen: element.chosen }),
    });
  } finally {
    bitmap.close();
  }
}

async function cut(photo, bitmap, part) {
  // An uncropped photo is not encoded again, which would lose quality.
  if (isWhole(part, bitmap)) return photo;
  const canvas = Object.assign(document.createElement('canvas'), sizeOf(part, SIDE_MAX));
  const pen = canvas.getContext('2d');
  pen.imageSmoothingQuality = 'high';
  pen.drawImage(bitmap, part.x, part.y, part.width, part.height, 0, 0, canvas.width, canvas.height);
  const wanted = Object.hasOwn(endings, photo.type) ? photo.type : 'image/jpeg';
  const bytes = await new Promise((resolve) => canvas.toBlob(resolve, wanted, QUALITY));
  if (!bytes) throw new Error(t('crop.unreadable'));
  // A browser that cannot encode the type writes PNG.
  const name = `${photo.name.replace(/\.[^.]*$/, '')}.${endings[bytes.type] ?? 'png'}`;
  return new File([bytes], name, { type: bytes.type });
}
