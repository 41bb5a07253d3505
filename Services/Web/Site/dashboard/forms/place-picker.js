// A map next to the fields of a place: a click writes the fields, and typed values move the marker.

import '../../shared/elements/map.js';
import { t } from '../../shared/i18n.js';

/**
 * @param read returns the place in the fields, `{ latitude, longitude }`, or null.
 * @param write writes a place into them.
 * @param others points for orientation, `{ id, name, place }`.
 * @returns `{ element, renew() }`; `renew` reads the fields again.
 */
export function placePicker(read, write, others = []) {
  const element = document.createElement('s-map').define({
    label: t('map.place'),
    hint: t('map.placeHint'),
    pick(place) {
      write(place);
      renew();
    },
  });
  const around = others.map((other) => ({ ...other, isFaint: true }));
  function renew() {
    const place = read();
    const own = place ? [{ id: 'own', name: t('map.thisPlace'), place }] : [];
    element.show([...around, ...own], place);
  }
  renew();
  return { element, renew };
}
