// The editor of a pointer cell: picks an object of the target class from a list, or by its id.

import { containing, find } from '../../shared/api.js';
import { fill, h } from '../../shared/dom.js';
import { dialog, field } from '../../shared/elements/dialog.js';
import { failure } from '../../shared/elements/toast.js';
import { t } from '../../shared/i18n.js';
import { fieldError } from '../../shared/problems.js';
import { rounds } from '../../shared/waiting.js';

const ROWS = 20;
const PAUSE = 300;
const CLASS = /^_?[A-Za-z][A-Za-z0-9_]{0,127}$/;
/** Fields that identify an object to people. */
const names = ['name', 'title', 'orderNo', 'authorName', 'content'];

export const nameOf = (object) =>
  names.map((name) => object[name]).find((name) => name !== undefined) ?? object.objectId;

export function pickPointer(className, value, save) {
  const list = h('div.picks', { role: 'radiogroup', 'aria-label': t('pointer.objects') });
  const target = field({ name: 'className', label: t('pointer.class'), required: true, value: className ?? '' });
  const search = field({ name: 'search', label: t('pointer.search') });
  const id = field({
    name: 'objectId',
    label: t('pointer.id'),
    value: value?.objectId ?? '',
    hint: t('pointer.hint'),
  });
  const box = (place) => place.querySelector('input');
  const begin = rounds();

  async function look() {
    const name = box(target).value.trim();
    const isLast = begin();
    if (!CLASS.test(name)) return fill(list);
    const text = box(search).value.trim();
    const where = text ? { $or: [{ objectId: text }, ...names.map((field) => ({ [field]: containing(text) }))] } : {};
    try {
      const { results } = await find(name, { where, limit: ROWS, order: '-$natural' });
      if (isLast()) fill(list, results.length ? results.map(pick) : h('p.hint', t('data.noRows')));
    } catch (error) {
      if (isLast()) fill(list);
      failure(error);
    }
  }
  function pick(object) {
    return h(
      'label.check',
      h('input', {
        type: 'radio',
        name: 'picked',
        checked: object.objectId === box(id).value,
        onchange: () => {
          box(id).value = object.objectId;
        },
      }),
      h('span.clip', String(nameOf(object))),
      h('span.soft.small', object.objectId),
    );
  }
  let timer = 0;
  for (const input of [box(target), box(search)]) {
    input.addEventListener('input', () => {
      clearTimeout(timer);
      timer = setTimeout(look, PAUSE);
    });
  }
  look();
  return dialog({
    title: t('pointer.title'),
    content: [target, search, list, id],
    submit({ className: chosen, objectId }) {
      if (objectId.trim() === '') return save(undefined);
      if (!CLASS.test(chosen.trim())) throw fieldError('className', t('data.badValue'));
      if (!/^[\w-]{1,64}$/.test(objectId.trim())) throw fieldError('objectId', t('data.badValue'));
      return save({ __type: 'Pointer', className: chosen.trim(), objectId: objectId.trim() });
    },
  });
}
