// The editor of a place cell: typed coordinates, or a point on a map.

import { editable } from '../../shared/browser/types.js';
import { dialog, field } from '../../shared/elements/dialog.js';
import { t } from '../../shared/i18n.js';
import { about } from '../../shared/problems.js';
import { placePicker } from '../forms/place-picker.js';

/**
 * @param read parses a place and throws a translated error for an invalid text.
 * @param save is called with the new place; undefined removes it.
 */
export function editPlace(column, value, read, save) {
  const input = field({ name: 'place', label: column.name, hint: t('data.pointHint'), value: editable(value, 'geo') });
  const text = input.querySelector('input');
  const picker = placePicker(
    () => {
      try {
        return read(text.value);
      } catch {
        return null;
      }
    },
    (place) => {
      text.value = editable(place, 'geo');
      text.dispatchEvent(new Event('input', { bubbles: true }));
    },
  );
  text.addEventListener('change', picker.renew);
  return dialog({
    title: column.name,
    content: [input, picker.element],
    isWide: true,
    submit({ place }) {
      return save(place.trim() === '' ? undefined : about('place', () => read(place)));
    },
  });
}
