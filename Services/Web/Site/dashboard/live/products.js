// The grid of products, whose stock and prices others change.

import { find } from '../../shared/api.js';
import { listen } from '../../shared/live/live.js';
import { paced } from '../../shared/live/paced.js';

/** @param products the Collection of the table's rows. */
export function followProducts(products, shown, signal) {
  const ids = shown.rows.map(({ objectId }) => objectId);
  if (!ids.length) return;
  const stale = new Set();
  /** Rows with an open field: they are redrawn when it is closed. */
  const late = new Set();
  const look = paced(async () => {
    const wanted = [...stale];
    if (wanted.length) {
      // Before the request: an event that comes during it marks its row again.
      stale.clear();
      const timeOf = (id) => products.get(id).updatedAt;
      const known = new Map(wanted.map((id) => [id, timeOf(id)]));
      const { results } = await read(wanted);
      const others = results.filter(({ objectId, updatedAt }) => timeOf(objectId) !== updatedAt);
      // A row that this tab changed during the request may have been read before: it is read again.
      const isSame = ({ objectId }) => timeOf(objectId) === known.get(objectId);
      for (const { objectId } of others.filter((row) => !isSame(row))) stale.add(objectId);
      for (const { objectId } of products.put(others.filter(isSame))) late.add(objectId);
    }
    for (const id of late) {
      if (isTypedIn(shown, id)) continue;
      late.delete(id);
      shown.renew(products.get(id));
    }
    if (late.size || stale.size) look();
  }, signal);
  async function read(wanted) {
    const where = { objectId: { $in: wanted } };
    try {
      return await find('Product', { where, include: 'brand', limit: wanted.length, signal });
    } catch (error) {
      for (const id of wanted) stale.add(id);
      throw error;
    }
  }

  listen(
    'Product',
    { where: { objectId: { $in: ids } } },
    ({ object }) => {
      // Changes made in this grid are already shown.
      const changed = object ? [object.objectId] : ids;
      for (const id of changed) if (!object || products.get(id).updatedAt !== object.updatedAt) stale.add(id);
      look();
    },
    signal,
  );
}

function isTypedIn(shown, id) {
  const index = shown.rows.findIndex(({ objectId }) => objectId === id);
  return !!shown.querySelectorAll('tbody tr')[index]?.querySelector('input:not([type=checkbox])');
}
