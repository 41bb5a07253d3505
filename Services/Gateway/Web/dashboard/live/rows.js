// The data browser: that rows were changed by others is said, and shown when somebody wants it.

import { listen } from '../../shared/live/live.js';
import { paced } from '../../shared/live/paced.js';

/** Rows that are counted; past it there are "more". */
export const COUNTED = 999;

/**
 * The rows that others changed.
 * @param events the last one of each row by its id, `{ kind, object }`.
 * @param known the rows that are here.
 * @param own ids of rows that were deleted here.
 */
export function byOthers(events, known, own) {
  const versions = new Map(known.map(({ objectId, updatedAt }) => [objectId, updatedAt]));
  return [...events.values()]
    .filter(({ kind, object: { objectId, updatedAt } }) =>
      kind === 'delete' ? !own.has(objectId) : versions.get(objectId) !== updatedAt,
    )
    .map(({ object }) => object.objectId);
}

/**
 * @param rows `{ known(), own, tell(count) }`; `count` is undefined where nobody knows how many.
 */
export function followRows(className, where, { known, own, tell }, signal) {
  const events = new Map();
  const changed = new Set();
  let hasBegun = false;
  let isUnsure = false;
  const look = paced(async () => {
    for (const id of byOthers(events, known(), own)) if (changed.size <= COUNTED) changed.add(id);
    events.clear();
    if (isUnsure) tell(undefined);
    else if (changed.size) tell(changed.size);
  }, signal);
  listen(
    className,
    { where },
    ({ kind, object }) => {
      if (object && events.size <= COUNTED) events.set(object.objectId, { kind, object });
      // When it begins, the rows have just been read.
      isUnsure ||= hasBegun && kind === 'unsure';
      hasBegun = true;
      look();
    },
    signal,
  );
}
