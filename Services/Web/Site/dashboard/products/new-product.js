// Adds a product with its photo. The server creates the small picture.

import { create, find } from '../../shared/api.js';
import { h } from '../../shared/dom.js';
import { dialog, field } from '../../shared/elements/dialog.js';
import { toast } from '../../shared/elements/toast.js';
import { decimals, exampleMoney, moneyKeys, parseMoney } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';
import { about, fieldError } from '../../shared/problems.js';
import { cached } from '../../shared/store.js';
import { photoField } from '../forms/photo-field.js';

/** Every brand, for choices. */
export const brands = () =>
  cached('brands', async () => (await find('Category', { order: 'title', limit: 1000, keys: 'title' })).results);

export async function addProduct() {
  const known = await brands().catch(() => []);
  const choices = [['', t('product.noBrand')], ...known.map((brand) => [brand.objectId, brand.title])];
  const photo = photoField();
  const content = [
    field({ name: 'name', label: t('product.name'), required: true, maxlength: 160 }),
    h(
      'div.pair',
      field({ name: 'price', label: t('product.price'), required: true, inputmode: moneyKeys() }),
      field({ name: 'stock', label: t('product.stock'), inputmode: 'numeric', hint: t('productNew.stockHint') }),
    ),
    field({ name: 'brand', label: t('product.brand'), type: 'select', options: choices }),
    field({ name: 'detail', label: t('product.detail'), type: 'textarea', maxlength: 4000 }),
    photo.element,
    field({ name: 'active', type: 'checkbox', label: t('productNew.sell'), checked: true }),
  ];
  return dialog({
    title: t('products.add'),
    content,
    confirm: t('productNew.confirm'),
    submit: (values) => save(values, photo),
  });
}

async function save(values, photo) {
  const amount = parseMoney(values.price);
  if (!values.name.trim()) throw fieldError('name', t('productNew.noName'));
  if (!(amount >= 0)) throw fieldError('price', t('product.badPrice', { example: exampleMoney() }));
  const product = {
    name: values.name.trim(),
    unitPrice: amount / 10 ** decimals(),
    priceUnit: 'ea',
    active: values.active === 'on',
  };
  if (values.detail.trim()) product.detail = values.detail.trim();
  if (values.stock.trim()) product.stock = about('stock', () => stockOf(values.stock));
  if (values.brand) product.brand = { __type: 'Pointer', className: 'Category', objectId: values.brand };
  const image = await photo.value();
  if (image) product.fullsizeImage = image;
  const { objectId } = await create('Product', product);
  toast(t('productNew.done', { name: product.name }));
  return { objectId };
}

function stockOf(text) {
  const pieces = Number(text);
  if (!Number.isInteger(pieces) || pieces < 0) throw new Error(t('product.badStock'));
  return pieces;
}
