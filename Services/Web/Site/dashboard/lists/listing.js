// The parts around a list: heading, choices and pages. The search field is in search-field.js.

import { h } from '../../shared/dom.js';
import { number } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';

/** The heading of a view: title, note and actions. */
export function heading(title, note, ...actions) {
  return h('div.heading', h('div', h('h1', title), h('p', note)), actions);
}

/** A text with a number in the reader's format. */
export function counted(key, n) {
  return t(key, { n, count: number(n) });
}

/** The number of all rows, and how many of them the list shows. */
export function ofAll(key, count, most) {
  const all = counted(key, count);
  return count > most ? `${all} · ${t('list.newest', { n: number(most) })}` : all;
}

/** A choice of one option, as buttons. */
export function stateChips(label, choices, chosen, onchoose) {
  return h(
    'div.chips',
    { role: 'group', 'aria-label': label },
    choices.map(([value, text]) =>
      h('button', { type: 'button', 'aria-pressed': String(value === chosen), onclick: () => onchoose(value) }, text),
    ),
  );
}

export function pager(page, size, count, go) {
  if (count <= size && page === 1) return null;
  const first = (page - 1) * size + 1;
  const last = Math.min(page * size, count);
  const button = (text, next, isThere) =>
    h('button', { type: 'button', disabled: !isThere, onclick: () => go(next) }, text);
  return h(
    'nav.pager',
    { 'aria-label': t('pager.label') },
    h('span', t('pager.range', { first: number(first), last: number(last), count: number(count) })),
    h('span.actions', button(t('pager.previous'), page - 1, page > 1), button(t('pager.next'), page + 1, last < count)),
  );
}
