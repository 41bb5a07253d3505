// A list with a button that adds older entries.

import { fill, h } from '../../shared/dom.js';
import { failure } from '../../shared/elements/toast.js';
import { t } from '../../shared/i18n.js';

/** Codes for a missing right, and for a missing function: 141 for Satchel's functions, 108 for a route. */
export const absent = [108, 119, 141];

/**
 * @param first the first page, `{ entries, next }`.
 * @param load gets the page after `next`.
 * @param step an entry's list item.
 */
export function withOlder(first, load, step) {
  const list = h('ol.timeline');
  const more = h('div.actions');
  const add = ({ entries, next }) => {
    list.append(...entries.map(step));
    fill(more, next ? h('button', { type: 'button', onclick: () => older(next) }, t('history.older')) : null);
  };
  const older = async (after) => {
    const place = list.children.length;
    try {
      add(await load(after));
      // The pressed button may be gone: the focus moves to the first added entry.
      const item = list.children[place];
      if (item) item.tabIndex = -1;
      item?.focus();
    } catch (error) {
      failure(error);
    }
  };
  add(first);
  return [list, more];
}
