// Fingers and pointers at tables. Each gesture has a button that does the same.

/** The distance in pixels from which a release refreshes. */
export const PULL = 64;

/** How far the list follows a finger: less the further it is. */
export const followed = (distance) => Math.max(0, Math.min(distance / 2, PULL * 1.25));

/**
 * Pull to refresh by touch.
 * @param box the list
 * @param atTop whether the list is at its start
 * @param show takes the height of the gap above the list, and whether a release refreshes
 */
export function pull(box, { atTop, show, refresh }) {
  let start = null;
  let height = 0;
  const end = (isDone) => {
    if (start === null) return;
    start = null;
    const wanted = isDone && height >= PULL;
    height = 0;
    show(0, false);
    if (wanted) refresh();
  };
  box.addEventListener(
    'touchstart',
    (event) => {
      start = event.touches.length === 1 && atTop() ? event.touches[0].clientY : null;
    },
    { passive: true },
  );
  box.addEventListener(
    'touchmove',
    (event) => {
      if (start === null) return;
      const distance = event.touches[0].clientY - start;
      if (distance <= 0 && height === 0) {
        // The finger scrolls the list.
        start = null;
        return;
      }
      if (event.cancelable) event.preventDefault();
      height = followed(distance);
      show(height, height >= PULL);
    },
    { passive: false },
  );
  box.addEventListener('touchend', () => end(true));
  box.addEventListener('touchcancel', () => end(false));
}

/** The place of a row that is held at the height `y`, given the top and bottom edges of all rows. */
export function placeAt(y, edges) {
  const place = edges.findIndex(({ top, bottom }) => y < (top + bottom) / 2);
  return place < 0 ? edges.length : place;
}

/**
 * Moving a row by its handle.
 * @param rows gives the elements of all rows
 * @param move takes the row's place and its new one
 */
export function drag(handle, row, { rows, move }) {
  handle.addEventListener('pointerdown', (event) => {
    if (event.button) return;
    event.preventDefault();
    handle.setPointerCapture(event.pointerId);
    row.classList.add('lifted');
    const from = rows().indexOf(row);
    const ends = new AbortController();
    const end = (dropped) => {
      ends.abort();
      row.classList.remove('lifted');
      if (!dropped) return;
      const others = rows().filter((other) => other !== row);
      const to = placeAt(
        dropped.clientY,
        others.map((other) => other.getBoundingClientRect()),
      );
      if (to !== from) move(from, to);
    };
    handle.addEventListener('pointerup', (dropped) => end(dropped), { signal: ends.signal });
    handle.addEventListener('pointercancel', () => end(null), { signal: ends.signal });
  });
}
