// One product: name, text, price, photo and whether it is for sale.

import { get, update } from '../../shared/api.js';
import { fill, h } from '../../shared/dom.js';
import { field } from '../../shared/elements/dialog.js';
import { attend } from '../../shared/elements/form.js';
import { errorText, toast } from '../../shared/elements/toast.js';
import { dateTime, moneyKeys, number } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';
import { about, fieldError, problemLine } from '../../shared/problems.js';
import { settle } from '../../shared/unsaved.js';
import { photoField } from '../forms/photo-field.js';
import { heading } from '../lists/listing.js';
import { refill } from '../live/keep-focus.js';
import { followed, followProduct } from '../live/product.js';
import { takenBack, typedIn, valuesOf } from '../products/form.js';
import { rating, readPrice, readStock } from '../products/grid.js';
import { historyCard } from '../products/history.js';
import { brands } from '../products/new-product.js';
import { stockCard } from '../products/stock.js';

const REMOVED = { __op: 'Delete' };

export async function render({ params, router, signal, redraw }) {
  const load = () => get('Product', params.id, { include: 'brand', signal });
  const [product, known] = await Promise.all([load(), brands().catch(() => [])]);
  const titles = new Map(known.map(({ objectId, title }) => [objectId, title]));
  const [history, moves] = await Promise.all([historyCard(product, titles), stockCard(product, router)]);
  const photo = photoField(product.fullsizeImage?.url ?? product.thumbnail?.url, product.name);
  const [sale, doings, more] = [h('span'), h('div.actions'), h('div')];
  const draw = (now) => {
    const isForSale = now.active !== false;
    const key = isForSale ? 'products.show.active' : 'products.show.hidden';
    fill(sale, h(`span.tag${isForSale ? '.good' : ''}`, t(key)));
    refill(doings, saleButton(now, isForSale, look));
    refill(more, facts(now, router));
  };
  draw(product);
  const { form, follow } = editor(product, known, photo, more, redraw);
  const renew = (now) => {
    draw(now);
    follow(now);
  };
  // Unlike a redrawn view, the form keeps typed values.
  async function look() {
    renew(await load());
  }
  followProduct(product, load, renew, signal);
  return [
    h('a.back', { href: router.back('/products') }, `← ${t('area.products')}`),
    heading(product.name, sale, doings),
    form,
    moves,
    history,
  ];
}

function saleButton(product, isForSale, look) {
  const sell = async (active) => {
    await update('Product', product.objectId, { active });
    await look();
  };
  const press = async (event) => {
    const button = event.currentTarget;
    button.disabled = true;
    try {
      await sell(!isForSale);
      toast(t('product.saved', { name: product.name }), 'good', () => sell(isForSale));
    } catch (error) {
      toast(errorText(error), 'bad');
      button.disabled = false;
    }
  };
  return h('button', { type: 'button', onclick: press }, t(isForSale ? 'bulk.unpublish' : 'bulk.publish'));
}

function editor(first, known, photo, more, redraw) {
  let product = first;
  const news = h('p.changed', { role: 'status' });
  const problem = problemLine();
  const send = h('button.primary', { type: 'submit' }, t('action.save'));
  const brand = valuesOf(product).brand;
  const choices = [['', t('product.noBrand')], ...known.map((one) => [one.objectId, one.title ?? one.objectId])];
  // Saving must not lose a brand that was removed, or that is not among the first thousand.
  if (brand && !known.some((one) => one.objectId === brand)) choices.push([brand, product.brand.title ?? brand]);
  const form = h(
    'form.columns',
    h(
      'section.card.stack',
      field({ name: 'name', label: t('product.name'), required: true, maxlength: 160, value: product.name }),
      h(
        'div.pair',
        field({
          name: 'price',
          label: t('product.price'),
          required: true,
          inputmode: moneyKeys(),
          value: valuesOf(product).price,
        }),
        field({
          name: 'stock',
          label: t('product.stock'),
          inputmode: 'numeric',
          hint: t('productNew.stockHint'),
          value: product.stock,
        }),
      ),
      field({ name: 'brand', label: t('product.brand'), type: 'select', options: choices, value: brand }),
      field({ name: 'detail', label: t('product.detail'), type: 'textarea', rows: 7, value: product.detail }),
      news,
      problem.element,
      h('div.actions', send),
    ),
    h('div.stack', h('section.card.stack', h('h2', t('product.photo')), photo.element), more),
  );

  async function submit() {
    const change = changesOf(product, typedIn(form));
    const image = await photo.value();
    if (image !== undefined) change.fullsizeImage = image ?? REMOVED;
    if (image === null) change.thumbnail = REMOVED;
    const before = product;
    if (Object.keys(change).length) {
      await requireUnchanged(before, Object.keys(change));
      await update('Product', before.objectId, change);
    }
    settle(form);
    await redraw();
    const takeBack = async () => {
      await update('Product', before.objectId, takenBack(before, change));
      await redraw();
    };
    // The files of an earlier photo may be deleted.
    const isReversible = Object.keys(change).length > 0 && image === undefined;
    toast(t('product.saved', { name: change.name ?? before.name }), 'good', isReversible ? takeBack : null);
  }
  attend(form, { name: `product ${product.objectId}`, problem, send, submit });

  /** Untouched fields show the product's new values; for the others a note says that another operator changed them. */
  function follow(now) {
    const next = followed(product, now, typedIn(form), valuesOf);
    product = next.product;
    for (const [name, value] of Object.entries(next.values)) {
      const control = form.elements.namedItem(name);
      if (name === 'brand' && ![...control.options].some((option) => option.value === value))
        control.append(h('option', { value }, now.brand.title ?? value));
      control.value = value;
    }
    if (next.conflicts.length) {
      const fields = next.conflicts.map((name) => t(`product.${name}`)).join(', ');
      fill(news, t('live.productChanged', { fields }));
    }
  }
  return { form, follow };
}

/** The changes in the form. Untouched fields are not sent, because others may change them. */
function changesOf(product, values) {
  const change = {};
  const before = valuesOf(product);
  const name = values.name.trim();
  if (!name) throw fieldError('name', t('productNew.noName'));
  if (name !== product.name) change.name = name;
  if (values.price !== before.price) change.unitPrice = about('price', () => readPrice(values.price));
  if (values.stock !== before.stock)
    change.stock = values.stock ? about('stock', () => readStock(values.stock)) : REMOVED;
  if (values.detail !== before.detail) change.detail = values.detail.trim() ? values.detail : REMOVED;
  if (values.brand !== before.brand)
    change.brand = values.brand ? { __type: 'Pointer', className: 'Category', objectId: values.brand } : REMOVED;
  return change;
}

/** Refuses to save when the changed fields are no longer as the form read them, such as a stock after a sale. */
async function requireUnchanged(product, fields) {
  const now = await get('Product', product.objectId, { include: 'brand' });
  const mark = (value) => value?.objectId ?? value?.name ?? value;
  if (fields.some((name) => mark(now[name]) !== mark(product[name]))) throw new Error(t('product.changedMeanwhile'));
}

function facts(product, router) {
  const row = (title, value) => h('div', h('dt', title), h('dd', value));
  return h(
    'section.card',
    h(
      'header',
      h('h2', t('customer.facts')),
      h('a', { href: router.href('/products', { search: product.name }) }, t('product.inGrid')),
    ),
    h(
      'dl.facts',
      row(t('product.rating'), rating(product)),
      product.stock === undefined ? null : row(t('product.stock'), number(product.stock)),
      row(t('product.added'), dateTime(product.createdAt)),
      row(t('product.updated'), dateTime(product.updatedAt)),
      row(t('product.id'), product.objectId),
    ),
  );
}
