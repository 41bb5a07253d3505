// A card with the first rows of a list, updated when others change them.

import { h } from '../../shared/dom.js';
import { listen } from '../../shared/live/live.js';
import { paced } from '../../shared/live/paced.js';
import { refill } from './keep-focus.js';

const markOf = ({ results, count }) =>
  JSON.stringify([count, results.map(({ objectId, updatedAt }) => [objectId, updatedAt])]);

/**
 * @param where the condition of the objects whose changes are followed.
 * @param load loads the list.
 * @param first its first result.
 * @param draw creates the card from the new and the earlier result.
 * @returns the element that holds the card.
 */
export function followCard(className, { where, load }, first, draw, signal) {
  let known = first;
  const place = h('div', draw(first, first));
  const look = paced(async () => {
    const now = await load(signal);
    if (signal.aborted || markOf(now) === markOf(known)) return;
    const before = known;
    known = now;
    refill(place, draw(now, before));
  }, signal);
  listen(className, { where }, look, signal);
  return place;
}
