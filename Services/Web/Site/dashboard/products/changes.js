// The results of changing many products at once. No requests.

import { decimals } from '../../shared/format.js';

export const minorOf = (value) => Math.round(value * 10 ** decimals());
export const majorOf = (minor) => minor / 10 ** decimals();

/**
 * A price after a change, in minor units.
 * @param change `{ kind: 'to' | 'by' | 'percent', value }`: an amount in minor units, or a number of percent.
 * @returns NaN for a negative price.
 */
export function changedPrice(price, { kind, value }) {
  const wanted =
    kind === 'to'
      ? value
      : kind === 'by'
        ? price + value
        : Math.round(Number(((price * (100 + value)) / 100).toFixed(6)));
  return wanted >= 0 && Number.isSafeInteger(wanted) ? wanted : NaN;
}

/**
 * The rows of a preview: each product's present and new value, and its change. `change` is null when nothing changes;
 * `isBad` marks an invalid result.
 */
export function priceRows(products, change) {
  return products.map((product) => {
    const before = product.unitPrice === undefined ? NaN : minorOf(product.unitPrice);
    const after = Number.isNaN(before) && change.kind !== 'to' ? NaN : changedPrice(before, change);
    const isBad = Number.isNaN(after);
    return { product, before, after, isBad, change: isBad || after === before ? null : { unitPrice: majorOf(after) } };
  });
}

/** The rows of a preview of the for-sale flag. */
export function saleRows(products, active) {
  return products.map((product) => {
    const before = product.active !== false;
    return { product, before, after: active, isBad: false, change: before === active ? null : { active } };
  });
}

/** A typed percentage, `5` or `-7,5 %`; NaN for an invalid text, and for a reduction of more than 100 %. */
export function parsePercent(text) {
  const match = /^\s*([+-]?\d{1,4}(?:[.,]\d{1,2})?)\s*%?\s*$/.exec(text.replace('\u2212', '-'));
  const value = match ? Number(match[1].replace(',', '.')) : NaN;
  return value >= -100 ? value : NaN;
}
