// A class: its columns, its indexes and its deletion.

import {
  definition,
  fieldsOf,
  hasDefault,
  hasTarget,
  isFieldName,
  types,
  valueText,
} from '../../shared/browser/schema.js';
import { h } from '../../shared/dom.js';
import { dialog, field } from '../../shared/elements/dialog.js';
import { table } from '../../shared/elements/table.js';
import { failure, toast } from '../../shared/elements/toast.js';
import { t } from '../../shared/i18n.js';
import { fieldError } from '../../shared/problems.js';
import { icon } from '../../shared/icons.js';
import { indexCard } from '../browser/indexes.js';
import { convertColumn } from '../browser/convert-column.js';
import { change, classTabs, drop, inWords, schema } from '../browser/schemas.js';
import { confirmTyped } from '../forms/confirm-typed.js';
import { counted, heading } from '../lists/listing.js';

export async function render({ params: { className }, router, signal, redraw }) {
  const known = await schema(className, signal);
  const fields = fieldsOf(known);
  const add = h(
    'button.primary',
    { type: 'button', onclick: () => addColumn(className, redraw) },
    icon('plus'),
    t('schema.addColumn'),
  );
  const shown = table(columns(className, redraw), {
    label: t('schema.columnsOf', { name: className }),
    id: ({ name }) => name,
    empty: t('schema.noColumns'),
  });
  shown.rows = fields;
  return [
    h('a.back', { href: router.href('/data') }, t('data.classes')),
    heading(className, counted('schema.columnCount', fields.length), h('div.actions', add)),
    classTabs(router, className, 'schema'),
    shown,
    indexCard(className, known, redraw),
    h(
      'section.card.spaced',
      h('header', h('h2', t('schema.dropTitle'))),
      h('p.hint', t('schema.dropHint')),
      h('p.actions', h('button.danger', { type: 'button', onclick: () => end(className, router) }, t('schema.drop'))),
    ),
  ];
}

function columns(className, redraw) {
  return [
    { title: t('schema.name'), lead: true, cell: ({ name }) => name },
    { title: t('schema.type'), cell: ({ type, target }) => (target ? `${type} → ${target}` : type) },
    { title: t('schema.required'), cell: ({ required }) => t(required ? 'data.true' : 'data.false') },
    { title: t('schema.default'), cell: ({ defaultValue }) => valueText(defaultValue) || t('data.noValue') },
    {
      title: '',
      cell: ({ name }) => [
        h(
          'button.quiet',
          {
            type: 'button',
            'aria-label': t('schema.convertOf', { name }),
            onclick: () => convertColumn(className, name, redraw),
          },
          t('schema.convert'),
        ),
        h(
          'button.quiet',
          {
            type: 'button',
            'aria-label': t('schema.deleteOf', { name }),
            onclick: () => deleteColumn(className, name, redraw),
          },
          t('schema.delete'),
        ),
      ],
    },
  ];
}

function addColumn(className, redraw) {
  const target = field({ name: 'target', label: t('schema.target'), hint: t('schema.targetHint') });
  const required = field({ name: 'required', type: 'checkbox', label: t('schema.mustBe') });
  const standard = field({ name: 'defaultValue', label: t('schema.default'), hint: t('schema.defaultHint') });
  const draw = (type) => {
    target.hidden = !hasTarget(type);
    required.hidden = type === 'Relation';
    standard.hidden = !hasDefault(type);
  };
  draw(types[0]);
  const type = field({
    name: 'type',
    type: 'select',
    label: t('schema.type'),
    required: true,
    options: types.map((name) => [name, name]),
    onchange: (event) => draw(event.target.value),
  });
  return dialog({
    title: t('schema.addColumnTo', { name: className }),
    confirm: t('schema.addColumn'),
    content: [
      field({ name: 'name', label: t('schema.name'), required: true, maxlength: 128, hint: t('schema.nameHint') }),
      type,
      target,
      required,
      standard,
    ],
    async submit(values) {
      const name = values.name.trim();
      if (!isFieldName(name)) throw fieldError('name', t('schema.badName'));
      try {
        const added = definition({ ...values, required: values.required === 'on' });
        await change(className, { fields: { [name]: added } });
      } catch (error) {
        throw inWords(error);
      }
      toast(t('schema.columnAdded', { name }));
      redraw();
    },
  });
}

function deleteColumn(className, name, redraw) {
  return confirmTyped({
    title: t('schema.deleteOf', { name }),
    text: t('schema.deleteText', { className }),
    word: name,
    confirm: t('schema.delete'),
    async done() {
      await change(className, { fields: { [name]: { __op: 'Delete' } } });
      toast(t('schema.columnDeleted', { name }));
      redraw();
    },
  });
}

async function end(className, router) {
  const isGone = await confirmTyped({
    title: t('schema.drop'),
    text: t('schema.dropText', { className }),
    word: className,
    confirm: t('schema.drop'),
    async done() {
      await drop(className);
      toast(t('schema.dropped', { name: className }));
    },
  }).catch(failure);
  if (isGone) router.go('/data');
}
