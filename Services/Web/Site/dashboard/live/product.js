// A product that others change while its form is open: untouched fields are updated, typed values remain.

import { listen } from '../../shared/live/live.js';
import { paced } from '../../shared/live/paced.js';

/** The form's fields by the product's fields. */
const names = { name: 'name', price: 'unitPrice', stock: 'stock', brand: 'brand', detail: 'detail' };

/**
 * Merges a form with typed values and a newer version of its product.
 * @param before the product that filled the form, and with which changes are compared.
 * @param typed the form's values.
 * @param valuesOf the form's values of a product.
 * @returns `{ product, values, conflicts }`: the new base for comparing, values of untouched fields, and the touched
 *   fields that another operator changed. In `product` the conflicting fields keep their old values, so that saving
 *   does not overwrite the other change.
 */
export function followed(before, now, typed, valuesOf) {
  const [old, fresh] = [valuesOf(before), valuesOf(now)];
  const changed = Object.keys(names).filter((name) => old[name] !== fresh[name]);
  const conflicts = changed.filter((name) => typed[name] !== old[name]);
  const values = Object.fromEntries(
    changed.filter((name) => !conflicts.includes(name)).map((name) => [name, fresh[name]]),
  );
  const kept = Object.fromEntries(conflicts.map((name) => [names[name], before[names[name]]]));
  return { product: { ...now, ...kept }, values, conflicts };
}

/**
 * @param first the shown product.
 * @param load reads the product again.
 * @param draw shows it.
 */
export function followProduct(first, load, draw, signal) {
  let { updatedAt } = first;
  const look = paced(async () => {
    const now = await load();
    if (signal.aborted || now.updatedAt === updatedAt) return;
    updatedAt = now.updatedAt;
    draw(now);
  }, signal);
  listen('Product', { where: { objectId: first.objectId } }, look, signal);
}
