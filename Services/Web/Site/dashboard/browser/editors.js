// The editor of a cell by the kind of its column: short values in place, others in a dialog.

import { fill, h } from '../../shared/dom.js';
import { dialog } from '../../shared/elements/dialog.js';
import { failure } from '../../shared/elements/toast.js';
import { t } from '../../shared/i18n.js';
import { about } from '../../shared/problems.js';
import { editable, kindOf, parse } from '../../shared/browser/types.js';
import { editACL } from './acl.js';
import { editFile } from './file.js';
import { pickPointer } from './pointer.js';
import { editRelation } from './relation.js';

const LONG = 80;
const inline = ['text', 'number', 'boolean', 'date'];

/**
 * Opens the editor of a value.
 * @param place `{ row, column, cell, className }`.
 * @param save is called with the new value; undefined removes it. It resolves when the value is saved.
 * @param leave draws the cell unchanged.
 */
export function edit({ row, column, cell, className }, save, leave) {
  const value = row[column.name];
  // A value of another kind than its column is edited by its own kind.
  const kind = column.kind === 'acl' ? 'acl' : (kindOf(value) ?? column.kind);
  if (kind === 'acl') return editACL(value, save);
  if (kind === 'relation') return editRelation(className, row, column).catch(failure);
  if (kind === 'file') return editFile(column, value, save);
  if (kind === 'geo') return place(column, value, save);
  if (kind === 'pointer') return pickPointer(value?.className ?? column.target, value, save);
  if (kind === 'text' && (/\n/.test(value ?? '') || String(value ?? '').length > LONG))
    return long(column, value, save);
  if (inline.includes(kind)) return short(cell, column, kind, value, save, leave);
  return json(column, kind, value, save);
}

function short(cell, column, kind, value, save, leave) {
  const label = t('data.editField', { field: column.name });
  const before = editable(value, kind);
  const input = control(kind, before, label);
  let isOver = false;

  function end(isKept) {
    if (isOver) return;
    isOver = true;
    const hadFocus = document.activeElement === input;
    if (hadFocus) cell.focus();
    let typed;
    if (isKept && input.value !== before) {
      try {
        // An empty input means no value, except for a text.
        typed = { value: input.value === '' && kind !== 'text' ? undefined : parse(kind, input.value) };
      } catch {
        failure(new Error(t('data.badValue')));
        isOver = false;
        input.setAttribute('aria-invalid', 'true');
        return input.focus();
      }
    }
    // The grid does not redraw a row that contains a field.
    input.remove();
    if (typed) Promise.resolve(save(typed.value)).catch(failure);
    else leave();
  }
  input.addEventListener('keydown', (event) => {
    if (!['Enter', 'Escape'].includes(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    end(event.key === 'Enter');
  });
  input.addEventListener('blur', () => end(true));
  fill(cell, input);
  input.focus();
  input.select?.();
}

function control(kind, value, label) {
  const common = { 'aria-label': label, autocomplete: 'off' };
  if (kind === 'boolean') {
    return h(
      'select',
      common,
      ['', 'true', 'false'].map((text) =>
        h('option', { value: text, selected: text === value }, text ? t(`data.${text}`) : t('data.noValue')),
      ),
    );
  }
  const type = kind === 'date' ? 'datetime-local' : 'text';
  return h('input', { ...common, type, step: '0.001', value, inputmode: kind === 'number' ? 'decimal' : null });
}

/** The editor with a map, whose module is loaded only when a place is edited. */
async function place(column, value, save) {
  try {
    const { editPlace } = await import('./place.js');
    return await editPlace(column, value, (text) => parsed('geo', text), save);
  } catch (error) {
    return failure(error);
  }
}

function long(column, value, save) {
  return dialog({
    title: column.name,
    fields: [{ name: 'text', type: 'textarea', rows: 12, label: t('data.kind.text'), value, required: true }],
    submit: ({ text }) => save(text),
  });
}

/** Arrays, objects, polygons and bytes, edited as JSON. */
function json(column, kind, value, save) {
  return dialog({
    title: column.name,
    fields: [
      {
        name: 'text',
        type: 'textarea',
        rows: 12,
        label: t(`data.kind.${kind}`),
        value: editable(value, kind),
        hint: t('data.jsonHint'),
      },
    ],
    submit({ text }) {
      return save(text.trim() === '' ? undefined : about('text', () => parsed(kind, text)));
    },
  });
}

/** @throws a translated error for invalid JSON. */
export function parsed(kind, text) {
  try {
    return parse(kind, text);
  } catch {
    const words = { array: 'data.badArray', object: 'data.badObject' };
    throw new Error(t(words[kind] ?? 'data.badValue'));
  }
}
