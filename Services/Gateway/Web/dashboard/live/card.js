// A card of a view that shows the first of a list, which others change.

import { find } from '../../shared/api.js';
import { h } from '../../shared/dom.js';
import { listen } from '../../shared/live/live.js';
import { paced } from '../../shared/live/paced.js';
import { refill } from './keep-focus.js';

const markOf = ({ results, count }) =>
  JSON.stringify([count, results.map(({ objectId, updatedAt }) => [objectId, updatedAt])]);

/**
 * @param query how the objects were found, without a signal.
 * @param first what was found.
 * @param draw makes the card of what was found now and before.
 * @returns the place of the card.
 */
export function followCard(className, query, first, draw, signal) {
  let known = first;
  const place = h('div', draw(first, first));
  const look = paced(async () => {
    const now = await find(className, { ...query, signal });
    if (signal.aborted || markOf(now) === markOf(known)) return;
    const before = known;
    known = now;
    refill(place, draw(now, before));
  }, signal);
  listen(className, { where: query.where }, look, signal);
  return place;
}
