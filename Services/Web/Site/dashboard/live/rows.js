// The data browser: a note counts the rows that others changed, and a button shows them.

import { listen } from '../../shared/live/live.js';
import { paced } from '../../shared/live/paced.js';

/** The largest count that is shown; above it the note says "more". */
export const COUNTED = 999;

/**
 * The rows that others changed.
 * @param events the last event of each row by id, `{ kind, object }`.
 * @param known the shown rows.
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

/** @param rows `{ known(), own, tell(count) }`; `count` is undefined when the number is unknown. */
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
      // At the beginning the rows have just been read.
      isUnsure ||= hasBegun && kind === 'unsure';
      hasBegun = true;
      look();
    },
    signal,
  );
}
