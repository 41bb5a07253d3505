// <satchel-product-table>: products with picture and price, by brand, words and price, and a button for the bag.

import { define, h } from './element.js';
import { SatchelQueryTable } from './satchel-query-table.js';
import { contentOf } from './table-row.js';

const OWN = ['brand', 'search', 'min-price', 'max-price'];

/** What products of these attributes match. */
export function whereOf({ brand, search, min, max }) {
  const where = { active: { $ne: false } };
  if (brand) where.brand = { __type: 'Pointer', className: 'Category', objectId: brand };
  // Each word occurs in the name, in any letter case.
  const words = (search ?? '').trim().split(/\s+/).filter(Boolean);
  if (words.length) where.$and = words.map((word) => ({ name: { $regex: quoted(word), $options: 'i' } }));
  const price = {};
  if (min) price.$gte = Number(min);
  if (max) price.$lte = Number(max);
  if (Object.keys(price).length) where.unitPrice = price;
  return where;
}

const quoted = (word) => word.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');

/** `$3.50/ea` in the language's form. */
export function priceOf({ unitPrice, priceUnit }, currency, language) {
  if (typeof unitPrice !== 'number') return '';
  const amount = new Intl.NumberFormat(language, { style: 'currency', currency }).format(unitPrice);
  return priceUnit ? `${amount}/${priceUnit}` : amount;
}

class SatchelProductTable extends SatchelQueryTable {
  static observedAttributes = [...SatchelQueryTable.observedAttributes, ...OWN, 'currency', 'bag'];
  static asking = [...SatchelQueryTable.asking, ...OWN];

  get objects() {
    return 'Product';
  }

  get query() {
    const get = (name) => this.getAttribute(name);
    const [brand, search, min, max] = OWN.map(get);
    const own = whereOf({ brand, search, min, max });
    const given = get('where');
    const where = JSON.stringify(given ? { $and: [own, JSON.parse(given)] } : own);
    return { ...super.query, where, order: get('order') ?? 'name' };
  }

  contentOf(row) {
    if (this.renderRow) return super.contentOf(row);
    const price = priceOf(row, this.getAttribute('currency') ?? 'USD', this.language);
    const isSold = row.stock === 0;
    const picture = this.getAttribute('image-key') ?? 'thumbnail';
    const content = contentOf(this, row, picture);
    const soldOut = isSold ? h('span', { class: 'text' }, this.text('soldOut')) : null;
    if (soldOut) content.at(-1).append(soldOut);
    return [...content, h('span', { class: 'price' }, price)];
  }

  offers(row) {
    const bag = this.hasAttribute('bag') && row.stock !== 0 ? [{ name: 'bag', label: this.text('bag') }] : [];
    return [...bag, ...super.offers(row)];
  }

  act(name, row) {
    return name === 'bag' ? this.#bag(row) : super.act(name, row);
  }

  /** A visitor gets an account without a name; a later sign-up keeps its bag. */
  async #bag(row) {
    const { client } = this;
    try {
      if (!client.token) await client.signUp({ authData: { anonymous: { id: freshUUID() } } });
      const body = { productId: row.objectId, quantity: 1 };
      const { result } = await client.call('POST', '/functions/addToBag', { body });
      this.emit('satchel-bag', { row, result });
      this.announce(this.text('bagged', { title: this.titleOf(row) }));
    } catch (error) {
      this.warn(this.failed(error));
    }
  }
}

/** `crypto.randomUUID` is there over HTTPS only. */
function freshUUID() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

define('satchel-product-table', SatchelProductTable);
