// The grid of products: rows can be selected; price, stock and the for-sale flag are edited in place.

import { update } from '../../shared/api.js';
import { h } from '../../shared/dom.js';
import { table } from '../../shared/elements/table.js';
import { failure, toast } from '../../shared/elements/toast.js';
import { editableMoney, exampleMoney, moneyKeys, number, parseMoney, price } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';
import { editCell } from '../forms/edit-cell.js';
import { wantedColumns } from '../lists/list-views.js';
import { majorOf, minorOf } from './changes.js';
import { picture } from './picture.js';

const STOCK_MAX = 1e9;
/** The optional columns. */
const optional = { price: 'product.price', stock: 'product.stock', rating: 'product.rating', sale: 'product.forSale' };

/** Their names and titles. */
export const gridColumns = () => Object.entries(optional).map(([name, key]) => ({ name, title: t(key) }));

/**
 * @param products the shown Collection.
 * @param options `{ router, sorted, onsort, selected, onselect, wanted }`: `selected` is a set of objectIds, `wanted`
 *   the columns from the URL.
 */
export function productGrid(products, { router, sorted, onsort, selected, onselect, wanted }) {
  const columns = [
    { title: t('bulk.select'), narrow: true, cell: (product) => choice(product, selected, onselect) },
    { title: t('product.name'), sort: 'name', lead: true, cell: (product) => named(product, router) },
    {
      name: 'price',
      title: t('product.price'),
      sort: 'unitPrice',
      end: true,
      cell: (product) =>
        editCell({
          text: price(product.unitPrice),
          value: product.unitPrice === undefined ? '' : editableMoney(minorOf(product.unitPrice)),
          label: t('product.changePrice', { name: product.name }),
          inputmode: moneyKeys(),
          save: (text) => save(products, product, { unitPrice: readPrice(text) }),
        }),
    },
    {
      name: 'stock',
      title: t('product.stock'),
      sort: 'stock',
      end: true,
      cell: (product) =>
        editCell({
          text: product.stock === undefined ? t('product.uncounted') : number(product.stock),
          value: product.stock ?? '',
          label: t('product.changeStock', { name: product.name }),
          inputmode: 'numeric',
          save: (text) => save(products, product, { stock: readStock(text) }),
        }),
    },
    { name: 'rating', title: t('product.rating'), narrow: false, cell: rating },
    { name: 'sale', title: t('product.forSale'), end: true, cell: (product) => sale(products, product) },
  ];
  return table(wantedColumns(columns, wanted), {
    label: t('area.products'),
    id: (product) => product.objectId,
    empty: t('products.none'),
    sorted,
    onsort,
  });
}

function choice(product, selected, onselect) {
  return h('input', {
    type: 'checkbox',
    checked: selected.has(product.objectId),
    'aria-label': t('bulk.selectOne', { name: product.name }),
    onchange: (event) => {
      if (event.target.checked) selected.add(product.objectId);
      else selected.delete(product.objectId);
      onselect();
    },
  });
}

function named(product, router) {
  return h(
    'div.named',
    picture(product),
    h(
      'div',
      h('a', { href: router.href(`/products/${product.objectId}`) }, h('strong', product.name)),
      h('span.soft.small', product.brand?.title ?? t('product.noBrand')),
    ),
  );
}

export function rating(product) {
  if (!product.ratingCount) return h('span.soft', t('product.unrated'));
  return h(
    'span',
    h('span.stars', { 'aria-hidden': 'true' }, '★'),
    ` ${number(Math.round(product.ratingAverage * 10) / 10)} `,
    h('span.soft.small', `(${number(product.ratingCount)})`),
  );
}

/** A typed price as `unitPrice` stores it. */
export function readPrice(text) {
  const wanted = parseMoney(text);
  if (!(wanted >= 0)) throw new Error(t('product.badPrice', { example: exampleMoney() }));
  return majorOf(wanted);
}

/** A typed number of pieces. */
export function readStock(text) {
  const wanted = text.trim() === '' ? NaN : Number(text);
  if (!Number.isInteger(wanted) || wanted < 0 || wanted > STOCK_MAX) throw new Error(t('product.badStock'));
  return wanted;
}

function sale(products, product) {
  const isForSale = product.active !== false;
  return h('button.switch', {
    type: 'button',
    role: 'switch',
    'aria-checked': String(isForSale),
    'aria-label': t('product.sell', { name: product.name }),
    onclick: () => save(products, product, { active: !isForSale }),
  });
}

/** Shows the change at once, and undoes it with a note when the server refuses it. */
async function save(products, product, change) {
  try {
    await products.change(product.objectId, change, () => update('Product', product.objectId, change));
    toast(t('product.saved', { name: product.name }), 'good', undoOf(products, product, change));
  } catch (error) {
    failure(error);
  }
}

/** A stock changes by as much as the operator changed it, because pieces may be sold in the meantime. */
function undoOf(products, { objectId, active, unitPrice, stock }, change) {
  const before = 'active' in change ? { active: active !== false } : 'stock' in change ? { stock } : { unitPrice };
  if (Object.values(before)[0] === undefined) return null;
  const sent = 'stock' in change ? { stock: { __op: 'Increment', amount: stock - change.stock } } : before;
  return () => products.change(objectId, before, () => update('Product', objectId, sent));
}
