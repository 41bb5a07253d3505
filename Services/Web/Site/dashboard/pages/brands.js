// Brands: names and pictures.

import { h } from '../../shared/dom.js';
import { t } from '../../shared/i18n.js';
import { fieldError } from '../../shared/problems.js';
import { forgetAll } from '../../shared/store.js';
import { photoField } from '../forms/photo-field.js';
import { objectList } from '../lists/object-list.js';
import { picture } from '../products/picture.js';

const kind = {
  name: 'brands',
  className: 'Category',
  order: 'title',
  search: ['title'],
  title: (brand) => brand.title ?? brand.objectId,
  columns: (router) => [
    {
      title: t('product.brand'),
      lead: true,
      cell: (brand) => h('div.named', picture({ thumbnail: brand.image }), h('strong', brand.title ?? '')),
    },
    {
      name: 'products',
      title: t('area.products'),
      cell: (brand) => h('a', { href: router.href('/products', { brand: brand.objectId }) }, t('brands.look')),
    },
  ],
  form(brand) {
    const photo = photoField(brand.image?.url, brand.title);
    return {
      fields: [{ name: 'title', label: t('product.brand'), required: true, maxlength: 160, value: brand.title }],
      content: photo.element,
      async read({ title }) {
        if (!title.trim()) throw fieldError('title', t('brands.noName'));
        const image = await photo.value();
        // Other views have cached the old name.
        forgetAll();
        if (image === undefined) return { title: title.trim() };
        return { title: title.trim(), image: image ?? { __op: 'Delete' } };
      },
    };
  },
};

export function render(view) {
  return objectList(view, kind);
}
