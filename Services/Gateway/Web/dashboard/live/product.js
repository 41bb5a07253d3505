// One product that others change while its form is open: what nobody touched follows, what somebody typed stays.

import { listen } from '../../shared/live/live.js';
import { paced } from '../../shared/live/paced.js';

/** The fields of the form by those of the product. */
const names = { name: 'name', price: 'unitPrice', stock: 'stock', brand: 'brand', detail: 'detail' };

/**
 * What a form with typed values becomes when its product became another.
 * @param before the product that the form was filled with, and what is sent is compared with.
 * @param typed the form's values.
 * @param valuesOf the form's values of a product.
 * @returns `{ product, values, conflicts }`: what to compare with from now on, values of fields that nobody touched,
 *   and the touched ones that somebody else changed; of these the product stays as it was, so that nothing is
 *   overwritten.
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
 * @param first the product that is shown.
 * @param load the product anew.
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
