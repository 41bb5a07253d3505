// Stores: places and opening hours.

import { h } from '../../shared/dom.js';
import { field } from '../../shared/elements/dialog.js';
import '../../shared/elements/map.js';
import { t } from '../../shared/i18n.js';
import { fieldError } from '../../shared/problems.js';
import { placeText } from '../../shared/map/drawing.js';
import { placePicker } from '../forms/place-picker.js';
import { counted } from '../lists/listing.js';
import { objectList, texts } from '../lists/object-list.js';

const NAMES = ['address', 'zipcode', 'city', 'hours'];

const kind = {
  name: 'stores',
  className: 'Store',
  order: 'name',
  search: ['name', 'city', 'zipcode', 'address'],
  title: (store) => store.name ?? store.objectId,
  columns: () => [
    { title: t('stores.name'), lead: true, cell: (store) => h('strong', store.name ?? '') },
    {
      name: 'address',
      title: t('stores.address'),
      cell: (store) =>
        [store.address, [store.zipcode, store.city].filter(Boolean).join(' ')].filter(Boolean).join(', '),
    },
    { name: 'hours', title: t('stores.hours'), cell: (store) => store.hours ?? '' },
    {
      name: 'location',
      title: t('stores.location'),
      narrow: false,
      cell: ({ location }) => (location ? placeText(location) : ''),
    },
  ],
  above: map,
  form(store, stores) {
    const place = placeFields(store, stores);
    return {
      isWide: true,
      fields: [
        { name: 'name', label: t('stores.name'), required: true, maxlength: 160, value: store.name },
        ...NAMES.map((name) => ({ name, label: t(`stores.${name}`), maxlength: 300, value: store[name] })),
      ],
      content: place,
      read(values) {
        if (!values.name.trim()) throw fieldError('name', t('stores.noName'));
        return { name: values.name.trim(), ...texts(values, NAMES, store), ...locationOf(values, store) };
      },
    };
  },
};

/** The stores of the list that have a place. */
function points(stores) {
  return stores
    .filter(({ location }) => location)
    .map((store) => ({ id: store.objectId, name: kind.title(store), place: store.location }));
}

/** The stores on a map; the list below has the same content for screen readers. */
function map(stores, open) {
  const placed = points(stores);
  if (!stores.length) return null;
  const element = document.createElement('s-map').define({
    label: t('map.stores'),
    hint: t('map.storesHint'),
    open: (id) => open(stores.find(({ objectId }) => objectId === id)),
  });
  const unplaced = stores.length - placed.length;
  return h('div.spaced', element.show(placed), unplaced ? h('p.hint', counted('stores.unplaced', unplaced)) : null);
}

/** Both coordinates of a store, and a map to choose them, with the other stores for orientation. */
function placeFields(store, stores) {
  const parts = [degrees('latitude', 90, store), degrees('longitude', 180, store)];
  const inputs = parts.map((part) => part.querySelector('input'));
  const picker = placePicker(
    () => placeOf(...inputs.map((input) => input.value)),
    ({ latitude, longitude }) => {
      [inputs[0].value, inputs[1].value] = [latitude, longitude];
      inputs[0].dispatchEvent(new Event('input', { bubbles: true }));
    },
    points(stores.filter(({ objectId }) => objectId !== store.objectId)),
  );
  for (const input of inputs) input.addEventListener('change', picker.renew);
  return [h('div.pair', parts), picker.element];
}

function degrees(name, most, store) {
  return field({
    name,
    label: t(`stores.${name}`),
    inputmode: 'decimal',
    maxlength: 20,
    value: store.location?.[name],
    hint: t('stores.degrees', { most }),
  });
}

/** The place from two typed numbers; null when one is invalid. */
function placeOf(...typed) {
  const [latitude, longitude] = typed.map((text) => text.trim().replace(',', '.'));
  const within = (text, most) => /^-?\d+(\.\d+)?$/.test(text) && Math.abs(Number(text)) <= most;
  if (!within(latitude, 90) || !within(longitude, 180)) return null;
  return { latitude: Number(latitude), longitude: Number(longitude) };
}

function locationOf({ latitude, longitude }, store) {
  if (!latitude.trim() && !longitude.trim()) return store.location ? { location: { __op: 'Delete' } } : {};
  const place = placeOf(latitude, longitude);
  if (!place) throw fieldError('latitude', t('stores.badLocation'));
  return { location: { __type: 'GeoPoint', ...place } };
}

export function render(view) {
  return objectList(view, kind);
}
