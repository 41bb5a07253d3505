// Redraws parts of a view that have the focus.

import { fill } from '../../shared/dom.js';

const nameOf = (element) =>
  [element.getAttribute('href'), element.getAttribute('aria-label'), element.textContent].join('\n');

/**
 * Replaces the content of an element. The focus returns to the same child, to its replacement, or to the element
 * itself.
 */
export function refill(element, ...children) {
  const before = element.contains(document.activeElement) ? document.activeElement : null;
  const name = before && nameOf(before);
  fill(element, ...children);
  if (!before) return;
  const same = [...element.querySelectorAll(before.localName)].find((other) => nameOf(other) === name);
  if (!same) element.tabIndex = -1;
  (same ?? element).focus({ preventScroll: true });
}
