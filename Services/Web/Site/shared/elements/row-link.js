// Opens a table's row in a new tab: by the link in it.

import { isApart } from '../handover.js';

/** Follows the row's link as an event with Ctrl or the middle button wants it. @returns whether it did. */
export function opensApart(event, row) {
  const isWanted = isApart(event) && !event.shiftKey;
  const link = isWanted ? (row.querySelector('td.lead a[href]') ?? row.querySelector('a[href]')) : null;
  if (!link) return false;
  link.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true, ctrlKey: true }));
  return true;
}

/** Keeps the middle button from scrolling where it opens a row. */
export function holdStill(event) {
  if (event.button === 1 && event.target.closest('tr.opens')) event.preventDefault();
}
