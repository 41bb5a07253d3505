// A list that others change while it is looked at. Rows change where they stand; that rows come or go is shown by
// itself where nobody is at the list, and offered where it would move what somebody reads.

import { listen } from '../../shared/live/live.js';
import { paced } from '../../shared/live/paced.js';

/**
 * What a list that was asked for anew makes of the one that is shown: whether it has the same rows, those that are new,
 * and those of the shown ones that are other now.
 * @param told objects as events had them, by id: of rows that are not in the list any more.
 */
export function compared(shown, found, told = new Map()) {
  const now = new Map(found.map((row) => [row.objectId, row]));
  const before = new Set(shown.map(({ objectId }) => objectId));
  const isSame = shown.length === found.length && shown.every((row, index) => row.objectId === found[index].objectId);
  const renewed = shown
    .map((row) => now.get(row.objectId) ?? { ...row, ...told.get(row.objectId) })
    .filter((row, index) => row.updatedAt !== shown[index].updatedAt);
  return { isSame, added: found.filter(({ objectId }) => !before.has(objectId)), renewed };
}

/**
 * @param className whose objects are listed.
 * @param query `{ where, keys }` of the list; `keys` are the fields of rows that others change.
 * @param list `{ shown, news, load(), put(found), note(found), words(added) }`: the table; the line of news; the list
 *   anew; shows it whole; shows what moves nothing, such as how many there are; and what is said of new rows.
 */
export function followList(className, query, list, signal) {
  const { shown, news } = list;
  const told = new Map();
  const look = paced(async () => {
    const found = await list.load();
    if (signal.aborted) return;
    const { isSame, added, renewed } = compared(shown.rows, found.results, told);
    told.clear();
    if (!isSame && isFree(shown)) {
      put(found);
      return news.say(list.words(added));
    }
    for (const row of renewed) shown.renew(row);
    list.note(found);
    if (isSame) news.clear();
    else news.offer(list.words(added), () => put(found, true));
  }, signal);

  function put(found, isWanted = false) {
    news.clear();
    list.put(found);
    // The button that was pressed is gone.
    if (isWanted) shown.querySelector('td[tabindex="0"]')?.focus();
  }
  listen(
    className,
    query,
    ({ object }) => {
      if (object) told.set(object.objectId, object);
      look();
    },
    signal,
  );
}

/** Nobody is in the list, points at it, or has read on beyond its head. */
function isFree(shown) {
  return (
    !shown.contains(document.activeElement) &&
    !(matchMedia('(hover: hover)').matches && shown.matches(':hover')) &&
    (getSelection().isCollapsed || !getSelection().containsNode(shown, true)) &&
    shown.getBoundingClientRect().top >= 0
  );
}
