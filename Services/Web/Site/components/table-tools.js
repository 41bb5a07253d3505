// Above and below the rows of a table: its buttons, the field for a new row, and the cell at the end.

import { freshId, h } from './element.js';

const button = (text, action, attributes) => h('button', { type: 'button', onclick: action, ...attributes }, text);

/** The buttons above the rows. */
export function toolsOf(table) {
  const toggle = () => {
    table.editing = !table.editing;
  };
  return [
    table.operations.size
      ? button(table.text(table.editing ? 'done' : 'edit'), toggle, { 'aria-pressed': String(table.editing) })
      : null,
    table.hasAttribute('refresh') ? button(table.text('refresh'), () => table.refresh()) : null,
    table.editing && table.operations.has('insert') ? inserting(table) : null,
  ].filter(Boolean);
}

/** A field for the title of a new row. */
function inserting(table) {
  const id = freshId();
  const field = h('input', { id, required: true, maxlength: 200, autocomplete: 'off' });
  const add = (event) => {
    event.preventDefault();
    table.insert({ [table.getAttribute('title-key') ?? 'name']: field.value.trim() });
    field.value = '';
  };
  const label = h('label', { for: id, class: 'unseen' }, table.text('addEntry'));
  field.placeholder = table.text('addEntry');
  return h('form', { class: 'tools', onsubmit: add }, label, field, h('button', {}, table.text('add')));
}

/** @param problem the text about a failed page */
export function cellOf(table, problem) {
  const { state, isLast } = table.pages;
  const cell = (...content) => [h('div', { class: 'state', part: 'state' }, ...content)];
  if (state === 'loading') return cell(h('span', { class: 'spinner', 'aria-hidden': 'true' }), table.text('loading'));
  if (state === 'failed') {
    const retry = button(table.text('retry'), () => table.pages.retry());
    return cell(h('p', { role: 'alert', class: 'problem' }, problem), retry);
  }
  if (table.load && !isLast) {
    return cell(button(table.text('more'), () => table.loadMore(), { 'data-more': true }));
  }
  if (table.rows.length > 0) return [];
  return cell(h('slot', { name: 'empty' }, table.getAttribute('empty') ?? table.text('empty')));
}
