// A list that others change while it is open. Changed rows are updated in place. Added and removed rows appear at once
// while the operator is not using the list; otherwise a button offers them, because they would move the content.

import { listen } from '../../shared/live/live.js';
import { paced } from '../../shared/live/paced.js';

/**
 * Compares the shown rows with newly loaded ones: whether both are the same rows, which are new, and which have
 * changed.
 * @param told objects from events by id, of rows that are no longer in the list.
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
 * @param className the class of the listed objects.
 * @param query `{ where, keys }` of the list; `keys` are the fields that others change.
 * @param list `{ shown, news, load(), put(found), note(found), words(added) }`: the table; the line for news; loads the
 *   list; shows it; shows only parts that move nothing, such as the count; the text about new rows.
 */
export function followList(className, query, list, signal) {
  const { shown, news } = list;
  const told = new Map();
  const look = paced(async () => {
    const events = new Map(told);
    const found = await list.load();
    if (signal.aborted) return;
    const { isSame, added, renewed } = compared(shown.rows, found.results, events);
    // Not the events that came during the request.
    for (const [id, object] of events) if (told.get(id) === object) told.delete(id);
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
    // The pressed button was removed.
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

/** Whether the operator is not using the list: no focus in it, no pointer over it, and its head is visible. */
function isFree(shown) {
  return (
    !shown.contains(document.activeElement) &&
    !(matchMedia('(hover: hover)').matches && shown.matches(':hover')) &&
    (getSelection().isCollapsed || !getSelection().containsNode(shown, true)) &&
    shown.getBoundingClientRect().top >= 0
  );
}
