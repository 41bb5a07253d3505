// The place in a long list, in the browser's history: the pages that were loaded, and how far the shopper scrolled.

/** The kept place; nil values when there is none. */
export function kept(state) {
  const place = state?.list;
  const pages = Number.isInteger(place?.pages) && place.pages > 0 ? place.pages : 0;
  return { pages, top: Number.isFinite(place?.top) ? place.top : 0 };
}

/** Keeps the place in the entry of the history, beside what others keep there. */
export function keep(history, pages, top) {
  history.replaceState({ ...history.state, list: { pages, top: Math.round(top) } }, '');
}

/** Lets `action` run once, `pause` milliseconds after the last call. */
export function later(action, pause = 200) {
  let timer = null;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(action, pause);
  };
}
