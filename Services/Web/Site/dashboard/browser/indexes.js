// A class' indexes with their origin; an operator can add and drop indexes.

import { indexesOf, indexOf, fieldsOf, standard } from '../../shared/browser/schema.js';
import { h } from '../../shared/dom.js';
import { dialog } from '../../shared/elements/dialog.js';
import { table } from '../../shared/elements/table.js';
import { toast } from '../../shared/elements/toast.js';
import { dateTime } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';
import { confirmTyped } from '../forms/confirm-typed.js';
import { change, inWords } from './schemas.js';

export function indexCard(className, schema, redraw) {
  const indexes = indexesOf(schema);
  const shown = table(
    [
      { title: t('index.name'), lead: true, cell: ({ name }) => name },
      { title: t('index.fields'), cell: ({ fields }) => fields.join(', ') },
      {
        title: t('index.by'),
        cell: ({ by, at }) =>
          at ? t('index.byAt', { who: t(`index.by.${by}`), at: dateTime(at) }) : t(`index.by.${by}`),
      },
      { title: t('index.state'), cell: ({ state }) => t(`index.state.${state}`) },
      {
        title: '',
        cell: ({ name, state }) =>
          state === 'unwanted'
            ? null
            : h(
                'button.quiet',
                {
                  type: 'button',
                  'aria-label': t('index.dropOf', { name }),
                  onclick: () => dropIndex(className, name, redraw),
                },
                t('index.drop'),
              ),
      },
    ],
    { label: t('index.title'), id: ({ name }) => name, empty: t('index.none') },
  );
  shown.rows = indexes;
  const add = () => addIndex(className, schema, redraw);
  return h(
    'section.spaced',
    h('div.heading', h('h2', t('index.title')), h('button', { type: 'button', onclick: add }, t('index.add'))),
    shown,
  );
}

function addIndex(className, schema, redraw) {
  const known = [...standard.filter((name) => name !== 'ACL'), ...fieldsOf(schema).map(({ name }) => name)];
  return dialog({
    title: t('index.add'),
    text: t('index.addText'),
    confirm: t('index.add'),
    fields: [
      { name: 'fields', label: t('index.fields'), required: true, hint: t('index.fieldsHint') },
      { name: 'unique', type: 'checkbox', label: t('index.unique') },
      { name: 'background', type: 'checkbox', label: t('index.background'), checked: true },
    ],
    async submit({ fields, unique, background }) {
      let index;
      try {
        index = indexOf(fields, known);
      } catch (error) {
        throw inWords(error);
      }
      // The name prefix makes the server build the index in the background, which it does only for ascending,
      // non-unique indexes.
      const isPlain = unique !== 'on' && Object.values(index.fields).every((direction) => direction !== -1);
      const name = background === 'on' && isPlain ? `auto_${index.name}` : index.name;
      if (unique === 'on') index.fields._unique = true;
      await change(className, { indexes: { [name]: index.fields } });
      toast(t('index.added', { name }));
      redraw();
    },
  });
}

function dropIndex(className, name, redraw) {
  return confirmTyped({
    title: t('index.dropOf', { name }),
    text: t('index.dropText'),
    word: name,
    confirm: t('index.drop'),
    async done() {
      await change(className, { indexes: { [name]: { __op: 'Delete' } } });
      toast(t('index.dropped', { name }));
      redraw();
    },
  });
}
