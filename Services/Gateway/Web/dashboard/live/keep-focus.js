// Parts of a view that are drawn anew while somebody is in them.

import { fill } from '../../shared/dom.js';

const nameOf = (element) =>
  [element.getAttribute('href'), element.getAttribute('aria-label'), element.textContent].join('\n');

/** Fills an element; what had the focus in it has it again, or what stands for the same, or the element itself. */
export function refill(element, ...children) {
  const before = element.contains(document.activeElement) ? document.activeElement : null;
  const name = before && nameOf(before);
  fill(element, ...children);
  if (!before) return;
  const same = [...element.querySelectorAll(before.localName)].find((other) => nameOf(other) === name);
  if (!same) element.tabIndex = -1;
  (same ?? element).focus({ preventScroll: true });
}
