// Stores: where they are and when they are open.

import { h } from '../../shared/dom.js';
import { number } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';
import { objectList, texts } from '../object-list.js';

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
      cell: ({ location }) => (location ? place(location) : ''),
    },
  ],
  form: (store) => ({
    fields: [
      { name: 'name', label: t('stores.name'), required: true, maxlength: 160, value: store.name },
      ...NAMES.map((name) => ({ name, label: t(`stores.${name}`), maxlength: 300, value: store[name] })),
      degrees('latitude', 90, store),
      degrees('longitude', 180, store),
    ],
    read(values) {
      if (!values.name.trim()) throw new Error(t('stores.noName'));
      return { name: values.name.trim(), ...texts(values, NAMES, store), ...locationOf(values, store) };
    },
  }),
};

function place({ latitude, longitude }) {
  return `${number(latitude)} · ${number(longitude)}`;
}

function degrees(name, most, store) {
  return {
    name,
    label: t(`stores.${name}`),
    inputmode: 'decimal',
    maxlength: 20,
    value: store.location?.[name],
    hint: t('stores.degrees', { most }),
  };
}

function locationOf(values, store) {
  const [latitude, longitude] = ['latitude', 'longitude'].map((name) => values[name].trim().replace(',', '.'));
  if (!latitude && !longitude) return store.location ? { location: { __op: 'Delete' } } : {};
  const within = (text, most) => /^-?\d+(\.\d+)?$/.test(text) && Math.abs(Number(text)) <= most;
  if (!within(latitude, 90) || !within(longitude, 180)) throw new Error(t('stores.badLocation'));
  return { location: { __type: 'GeoPoint', latitude: Number(latitude), longitude: Number(longitude) } };
}

export function render(view) {
  return objectList(view, kind);
}
