// Products: a grid for single and bulk changes, with export to and import from spreadsheets.

import { containing, find } from '../../shared/api.js';
import { fill, h } from '../../shared/dom.js';
import { t } from '../../shared/i18n.js';
import { icon } from '../../shared/icons.js';
import { Collection } from '../../shared/store.js';
import { viewBar } from '../lists/list-views.js';
import { counted, heading, pager, stateChips } from '../lists/listing.js';
import { searchField } from '../lists/search-field.js';
import { followProducts } from '../live/products.js';
import { changePrices, changeSale } from '../products/bulk-dialog.js';
import { exportProducts, importProducts } from '../products/files.js';
import { gridColumns, productGrid } from '../products/grid.js';
import { addProduct, brands } from '../products/new-product.js';
import { productTabs } from '../products/tabs.js';

const PAGE = 25;
const LOW = 10;
const orders = ['name', '-name', 'unitPrice', '-unitPrice', 'stock', '-stock'];
const shows = {
  '': {},
  active: { active: { $ne: false } },
  hidden: { active: false },
  low: { stock: { $lte: LOW }, active: { $ne: false } },
};

export async function render(view) {
  const { router, query, signal, redraw } = view;
  const page = Math.max(1, Number.parseInt(query.page ?? '1', 10) || 1);
  const sorted = orders.includes(query.sort) ? query.sort : 'name';
  const where = condition(query);
  const options = { where, order: sorted, include: 'brand', limit: PAGE, skip: (page - 1) * PAGE, count: 1, signal };
  const [found, views, known, added] = await Promise.all([
    find('Product', options),
    viewBar('products', view, gridColumns()),
    brands().catch(() => []),
    justAdded(query.added, signal),
  ]);
  const go = (change) => router.go('/products', { ...query, page: '', added: '', ...change }, { replace: true });
  const products = new Collection();
  const selected = new Set();
  const bulk = h('div.bar.bulk', { role: 'group', 'aria-label': t('bulk.label') });
  const onsort = (sort) => go({ sort });
  const wanted = query.columns;
  const shown = productGrid(products, { router, sorted, selected, onsort, onselect: drawBulk, wanted });
  const others = found.results.filter(({ objectId }) => objectId !== query.added);
  shown.rows = products.put([...added, ...others]);
  signal.addEventListener(
    'abort',
    products.subscribe((product) => shown.renew(product)),
  );
  followProducts(products, shown, signal);

  function drawBulk() {
    const some = () => [...selected].map((id) => products.get(id));
    const work = (change) => () => change(some(), products).then((done) => done && drawBulk());
    fill(bulk, bulkBar({ count: selected.size, all: shown.rows.length, work, selectAll }));
  }
  function selectAll(isAll) {
    selected.clear();
    if (isAll) for (const product of shown.rows) selected.add(product.objectId);
    shown.rows = [...shown.rows];
    drawBulk();
  }
  drawBulk();
  const after = (done) => done && redraw();
  return [
    heading(
      t('area.products'),
      counted('products.count', found.count),
      h(
        'div.actions',
        h('button', { type: 'button', onclick: () => importProducts().then(after) }, t('csv.import')),
        h(
          'button',
          { type: 'button', onclick: (event) => exportProducts(where, event.currentTarget) },
          t('csv.export'),
        ),
        h(
          'button.primary',
          { type: 'button', onclick: () => addProduct().then((made) => made && go({ added: made.objectId })) },
          icon('plus'),
          t('products.add'),
        ),
      ),
    ),
    productTabs(router, 'products'),
    h(
      'div.bar',
      searchField(t('products.search'), query.search, (search) => go({ search })),
      stateChips(
        t('products.show'),
        Object.keys(shows).map((key) => [key, t(`products.show.${key || 'all'}`)]),
        query.show ?? '',
        (show) => go({ show }),
      ),
      known.length ? brandField(known, query.brand ?? '', (brand) => go({ brand })) : null,
    ),
    views,
    bulk,
    shown,
    pager(page, PAGE, found.count, (next) => router.go('/products', { ...query, added: '', page: next })),
  ];
}

/** A new product is the first row whatever the list's order and filters, so that its operator sees it. */
async function justAdded(objectId, signal) {
  if (!objectId) return [];
  return (await find('Product', { where: { objectId }, include: 'brand', limit: 1, signal })).results;
}

function condition({ show, search, brand }) {
  const where = { ...(shows[show] ?? {}) };
  if (brand) where.brand = { __type: 'Pointer', className: 'Category', objectId: brand };
  const text = (search ?? '').trim();
  if (text) where.$or = ['name', 'detail'].map((field) => ({ [field]: containing(text) }));
  return where;
}

function brandField(known, chosen, onchoose) {
  const options = [['', t('codes.everyBrand')], ...known.map(({ objectId, title }) => [objectId, title ?? objectId])];
  return h(
    'select.brandChoice',
    { 'aria-label': t('product.brand'), onchange: (event) => onchoose(event.target.value) },
    options.map(([value, text]) => h('option', { value, selected: value === chosen }, text)),
  );
}

function bulkBar({ count, all, work, selectAll }) {
  const isAll = count > 0 && count === all;
  const box = h('input', {
    type: 'checkbox',
    checked: isAll,
    disabled: !all,
    onchange: (event) => selectAll(event.target.checked),
  });
  box.indeterminate = count > 0 && !isAll;
  const button = (key, change) => h('button', { type: 'button', disabled: !count, onclick: work(change) }, t(key));
  return [
    h('label.check', box, h('span', t('bulk.all'))),
    h('span.soft.small', { role: 'status' }, count ? counted('bulk.count', count) : t('bulk.none')),
    h(
      'div.actions',
      button('bulk.prices', changePrices),
      button('bulk.publish', (some, products) => changeSale(some, products, true)),
      button('bulk.unpublish', (some, products) => changeSale(some, products, false)),
    ),
  ];
}
