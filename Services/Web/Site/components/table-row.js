// A row of a table: its content, and its controls for selection, editing and actions.

import './satchel-image.js';
import { h } from './element.js';
import { drag } from './gestures.js';
import { addressOf, filled, shown, valueAt } from './lists.js';

/** The usual content: picture, title and text. */
export function contentOf(table, row, pictureKey = table.getAttribute('image-key')) {
  const text = shown(valueAt(row, table.getAttribute('text-key')), table.language);
  const picture = pictureKey ? addressOf(valueAt(row, pictureKey)) : undefined;
  return [
    picture === undefined ? null : h('satchel-image', { src: picture, alt: '' }),
    h('span', { class: 'grow' }, h('strong', {}, table.titleOf(row)), text ? h('span', { class: 'text' }, text) : null),
  ];
}

/** @param group the name of the radio buttons of this table */
export function rowOf(table, row, group) {
  const item = h('li', { class: 'row', part: 'row', 'data-key': row.objectId });
  if (table.editing) item.append(edited(table, row, item));
  else {
    const actions = offered(table, row);
    item.append(main(table, row, group), ...actions);
    if (actions.length) item.classList.add('swipes');
  }
  return item;
}

function main(table, row, group) {
  const content = table.contentOf(row);
  const kind = table.getAttribute('selection');
  if (kind) {
    const box = h('input', {
      type: kind === 'single' ? 'radio' : 'checkbox',
      name: group,
      onchange: () => table.select(row, box.checked),
    });
    box.checked = table.isSelected(row);
    return h('label', { class: 'content' }, box, ...content);
  }
  const href = table.getAttribute('href');
  if (!href) return h('div', { class: 'content' }, ...content);
  const open = (event) => {
    if (!table.emit('satchel-open', { row }, true)) event.preventDefault();
  };
  return h('a', { class: 'content', href: filled(href, row), onclick: open }, ...content);
}

/** The actions behind a swipe. On wide screens they are always in sight, and the keyboard brings them there. */
function offered(table, row) {
  const actions = table.offers(row);
  if (actions.length === 0) return [];
  const title = table.titleOf(row);
  const button = ({ name, label }) =>
    h(
      'button',
      {
        type: 'button',
        class: name === 'delete' ? 'bad' : null,
        'aria-label': `${label}: ${title}`,
        onclick: () => table.act(name, row),
      },
      label,
    );
  return [h('div', { class: 'actions' }, ...actions.map(button))];
}

function edited(table, row, item) {
  const title = table.titleOf(row);
  const may = table.operations;
  const button = (control, sign, text, action) =>
    h('button', { type: 'button', 'data-control': control, 'aria-label': text, title: text, onclick: action }, sign);
  const move = (control, sign, text, step) => {
    const place = () => table.rows.indexOf(row) + step;
    const isPossible = () => place() >= 0 && place() < table.rows.length;
    const press = button(control, sign, text, () => isPossible() && table.move(row, place()));
    press.addEventListener('focus', () => press.setAttribute('aria-disabled', String(!isPossible())));
    return press;
  };
  const controls = [];
  if (may.has('delete')) {
    const remove = button('delete', '✕', table.text('delete', { title }), () => table.remove(row));
    remove.classList.add('bad');
    controls.push(remove);
  }
  controls.push(...table.contentOf(row));
  if (may.has('reorder')) {
    controls.push(
      move('up', '↑', table.text('moveUp', { title }), -1),
      move('down', '↓', table.text('moveDown', { title }), 1),
    );
    const handle = h('span', { class: 'handle', 'aria-hidden': 'true', part: 'handle' }, '☰');
    drag(handle, item, { rows: () => table.items, move: (from, to) => table.move(table.rows[from], to) });
    controls.push(handle);
  }
  return h('div', { class: 'content edits' }, ...controls);
}
