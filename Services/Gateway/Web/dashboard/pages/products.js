// Products: price, stock and what is for sale are changed where they stand.

import { containing, find, update } from '../../shared/api.js';
import { h } from '../../shared/dom.js';
import { table } from '../../shared/elements/table.js';
import { failure, toast } from '../../shared/elements/toast.js';
import { editableMoney, decimals, number, parseMoney, price } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';
import { icon } from '../../shared/icons.js';
import { Collection } from '../../shared/store.js';
import { editCell } from '../edit-cell.js';
import { counted, heading, pager, searchField, stateChips } from '../listing.js';
import { addProduct } from '../product-new.js';
import { picture } from '../product-picture.js';

const PAGE = 25;
const LOW = 10;
const STOCK_MAX = 1e9;
const orders = ['name', '-name', 'unitPrice', '-unitPrice', 'stock', '-stock'];
const shows = {
  '': {},
  active: { active: { $ne: false } },
  hidden: { active: false },
  low: { stock: { $lte: LOW }, active: { $ne: false } },
};

export async function render({ router, query, signal, redraw }) {
  const page = Math.max(1, Number.parseInt(query.page ?? '1', 10) || 1);
  const sorted = orders.includes(query.sort) ? query.sort : 'name';
  const found = await find('Product', {
    where: condition(query),
    order: sorted,
    include: 'brand',
    limit: PAGE,
    skip: (page - 1) * PAGE,
    count: 1,
    signal,
  });
  const go = (change) => router.go('/products', { ...query, page: '', ...change }, { replace: true });
  const products = new Collection();
  const shown = grid(products, sorted, (sort) => go({ sort }));
  shown.rows = products.put(found.results);
  const end = products.subscribe((product) => shown.renew(product));
  signal.addEventListener('abort', end);
  return [
    heading(
      t('area.products'),
      counted('products.count', found.count),
      h(
        'button.primary',
        { type: 'button', onclick: () => addProduct().then((added) => added && redraw()) },
        icon('plus'),
        t('products.add'),
      ),
    ),
    h(
      'div.bar',
      searchField(t('products.search'), query.search, (search) => go({ search })),
      stateChips(
        t('products.show'),
        Object.keys(shows).map((key) => [key, t(`products.show.${key || 'all'}`)]),
        query.show ?? '',
        (show) => go({ show }),
      ),
    ),
    shown,
    pager(page, PAGE, found.count, (next) => router.go('/products', { ...query, page: next })),
  ];
}

function condition({ show, search }) {
  const where = { ...(shows[show] ?? {}) };
  const text = (search ?? '').trim();
  if (text) where.$or = ['name', 'detail'].map((field) => ({ [field]: containing(text) }));
  return where;
}

function grid(products, sorted, onsort) {
  return table(
    [
      {
        title: t('product.name'),
        sort: 'name',
        lead: true,
        cell: (product) =>
          h(
            'div.named',
            picture(product),
            h('div', h('strong', product.name), h('span.soft.small', product.brand?.title ?? t('product.noBrand'))),
          ),
      },
      {
        title: t('product.price'),
        sort: 'unitPrice',
        end: true,
        cell: (product) =>
          editCell({
            text: price(product.unitPrice),
            value: product.unitPrice === undefined ? '' : editableMoney(minor(product.unitPrice)),
            label: t('product.changePrice', { name: product.name }),
            inputmode: 'decimal',
            save: (text) => savePrice(products, product, text),
          }),
      },
      {
        title: t('product.stock'),
        sort: 'stock',
        end: true,
        cell: (product) =>
          editCell({
            text: product.stock === undefined ? t('product.uncounted') : number(product.stock),
            value: product.stock ?? '',
            label: t('product.changeStock', { name: product.name }),
            inputmode: 'numeric',
            save: (text) => saveStock(products, product, text),
          }),
      },
      { title: t('product.rating'), narrow: false, cell: rating },
      { title: t('product.forSale'), end: true, cell: (product) => sale(products, product) },
    ],
    { label: t('area.products'), id: (product) => product.objectId, empty: t('products.none'), sorted, onsort },
  );
}

const minor = (value) => Math.round(value * 10 ** decimals());

function rating(product) {
  if (!product.ratingCount) return h('span.soft', t('product.unrated'));
  return h(
    'span',
    h('span.stars', { 'aria-hidden': 'true' }, '★'),
    ` ${number(Math.round(product.ratingAverage * 10) / 10)} `,
    h('span.soft.small', `(${number(product.ratingCount)})`),
  );
}

function savePrice(products, product, text) {
  const wanted = parseMoney(text);
  if (!(wanted >= 0)) throw new Error(t('product.badPrice'));
  return save(products, product, { unitPrice: wanted / 10 ** decimals() });
}

function saveStock(products, product, text) {
  const wanted = text.trim() === '' ? NaN : Number(text);
  if (!Number.isInteger(wanted) || wanted < 0 || wanted > STOCK_MAX) throw new Error(t('product.badStock'));
  return save(products, product, { stock: wanted });
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

/** Shown at once; undone with a word when the server says no. */
async function save(products, product, change) {
  try {
    await products.change(product.objectId, change, () => update('Product', product.objectId, change));
    toast(t('product.saved', { name: product.name }));
  } catch (error) {
    failure(error);
  }
}
