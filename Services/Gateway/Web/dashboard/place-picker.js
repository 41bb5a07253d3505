// A map beside fields for a place: what is pressed on it is written into them, and what is typed is shown on it.

import '../shared/elements/map.js';
import { t } from '../shared/i18n.js';

/**
 * @param read answers the place that the fields have, `{ latitude, longitude }`, or null.
 * @param write puts a place into them.
 * @param others points to find one's way by, `{ id, name, place }`.
 * @returns `{ element, renew() }`; `renew` looks at the fields again.
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
