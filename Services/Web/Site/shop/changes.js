// What has changed on a page between two moments, and the parts of it that follow.

/** The products that a page shows: their id, name, price and state, as texts. */
export function items(root) {
  const text = (item, part) => item.querySelector(part)?.textContent.trim() ?? '';
  return [...root.querySelectorAll('[data-item]')].map((item) => ({
    id: item.dataset.item,
    name: item.dataset.name ?? '',
    price: text(item, '[data-price]'),
    state: text(item, '[data-state]'),
  }));
}

/** Sentences about the changes, for people who do not see them. `price` has places for `{old}` and `{new}`. */
export function notes(before, after, { price }) {
  const earlier = new Map(before.map((item) => [item.id, item]));
  return after.flatMap((item) => {
    const old = earlier.get(item.id);
    if (!old) return [];
    const named = (text) => (item.name ? `${item.name}: ${text}` : text);
    return [
      item.price !== old.price &&
        named(price.replace(/\{(old|new)\}/g, (_, which) => (which === 'old' ? old.price : item.price))),
      item.state !== old.state && item.state && named(item.state),
    ].filter(Boolean);
  });
}

const CONTROLS = 'a, button, input';

/**
 * Replaces the parts that differ. The focus stays at the same control of its part.
 * @returns false, and nothing is replaced, when a part is missing: it is another page, as an empty bag is.
 */
export function renew(shown, fresh) {
  const pairs = [...shown.querySelectorAll('[data-fresh]')].map((part) => [
    part,
    fresh.querySelector(`[data-fresh="${part.dataset.fresh}"]`),
  ]);
  if (pairs.some(([, next]) => !next)) return false;
  for (const [part, next] of pairs) {
    if (part.isEqualNode(next)) continue;
    const focused = [...part.querySelectorAll(CONTROLS)].indexOf(shown.activeElement);
    const added = shown.importNode(next, true);
    part.replaceWith(added);
    if (focused >= 0) added.querySelectorAll(CONTROLS)[focused]?.focus({ preventScroll: true });
  }
  return true;
}
