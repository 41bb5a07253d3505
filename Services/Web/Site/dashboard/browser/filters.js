// The filters of a class' rows: the active ones, and a form to add another.

import { fill, freshId, h } from '../../shared/dom.js';
import { failure } from '../../shared/elements/toast.js';
import { dateTime } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';
import { icon } from '../../shared/icons.js';
import { constraint, needsValue, operationsOf } from '../../shared/browser/filter.js';
import { fromLocal } from '../../shared/zone.js';

const types = { number: 'number', date: 'datetime-local' };
const hints = { geo: 'data.geoHint', array: 'data.arrayHint', pointer: 'data.pointerHint' };

function words(filter) {
  const value = filter.kind === 'date' && filter.value ? dateTime(filter.value) : filter.value;
  return [filter.field, t(`data.is.${filter.operation}`), needsValue(filter.operation) ? value : '']
    .filter(Boolean)
    .join(' ');
}

/** @param change is called with the new filters. */
export function filterBar(columns, filters, change) {
  const shown = filters.map((filter, index) =>
    h(
      'li',
      h(
        'button.filter',
        {
          type: 'button',
          'aria-label': t('data.dropFilter', { filter: words(filter) }),
          onclick: () => change(filters.filter((_, other) => other !== index)),
        },
        words(filter),
        icon('close'),
      ),
    ),
  );
  return h(
    'div.filters',
    shown.length ? h('ul.chips', { 'aria-label': t('data.filters') }, shown) : null,
    h('details', h('summary.button', icon('search'), t('data.addFilter')), builder(columns, filters, change)),
  );
}

function labelled(label, control) {
  const id = freshId('filter');
  control.id = id;
  return h('div.field', h('label', { for: id }, label), control);
}

function builder(columns, filters, change) {
  const fields = h(
    'select',
    { onchange: draw },
    columns.filter(({ kind }) => kind !== 'acl').map(({ name }) => h('option', { value: name }, name)),
  );
  const rest = h('div.parts');
  let operation;
  let value;

  function column() {
    return columns.find(({ name }) => name === fields.value);
  }
  function draw() {
    const { kind } = column();
    operation = h(
      'select',
      { onchange: drawValue },
      operationsOf(kind).map((name) => h('option', { value: name }, t(`data.is.${name}`))),
    );
    const place = h('div');
    fill(rest, labelled(t('data.operation'), operation), place);
    drawValue();

    function drawValue() {
      value = needsValue(operation.value) ? control(kind) : null;
      const hint = value && hints[kind] ? h('p.hint', t(hints[kind])) : null;
      fill(place, value ? labelled(t('data.value'), value) : null, hint);
    }
  }
  function add(event) {
    event.preventDefault();
    const { name, kind, target } = column();
    let text = value?.value ?? '';
    if (kind === 'date' && text) text = fromLocal(text).toISOString();
    const filter = { field: name, kind, operation: operation.value, value: text, target };
    try {
      constraint(filter);
    } catch {
      return failure(new Error(t('data.badValue')));
    }
    change([...filters, filter]);
  }
  draw();
  return h(
    'form.builder',
    { onsubmit: add },
    labelled(t('data.field'), fields),
    rest,
    h('button.primary', { type: 'submit' }, t('data.apply')),
  );
}

function control(kind) {
  if (kind !== 'boolean') return h('input', { type: types[kind] ?? 'text', step: 'any', autocomplete: 'off' });
  return h(
    'select',
    ['true', 'false'].map((text) => h('option', { value: text }, t(`data.${text}`))),
  );
}
