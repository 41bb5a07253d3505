// The editor of a relation's members: shows, adds and removes them.

import { find, update } from '../../shared/api.js';
import { fill, h } from '../../shared/dom.js';
import { dialog } from '../../shared/elements/dialog.js';
import { toast } from '../../shared/elements/toast.js';
import { t } from '../../shared/i18n.js';
import { nameOf, pickPointer } from './pointer.js';

const SHOWN = 100;
const pointer = (className, objectId) => ({ __type: 'Pointer', className, objectId });

/** The operation that adds and removes members. */
export function operation(target, added, removed) {
  const operations = [
    { __op: 'AddRelation', objects: added.map((id) => pointer(target, id)) },
    { __op: 'RemoveRelation', objects: removed.map((id) => pointer(target, id)) },
  ].filter(({ objects }) => objects.length);
  if (!operations.length) return null;
  return operations.length > 1 ? { __op: 'Batch', ops: operations } : operations[0];
}

/** @param row the object that has the relation, of the class `className`. */
export async function editRelation(className, row, { name, target }) {
  const related = { $relatedTo: { object: pointer(className, row.objectId), key: name } };
  const { results, count } = await find(target, { where: related, limit: SHOWN, count: 1 });
  const members = new Map(results.map((object) => [object.objectId, { text: String(nameOf(object)), isNew: false }]));
  const removed = new Set();
  const list = h('ul.rights', { 'aria-label': t('relation.members') });

  function draw() {
    fill(list, members.size ? [...members].map(line) : h('li.hint', t('relation.none')));
  }
  function line([id, { text, isNew }]) {
    const isGone = removed.has(id);
    const toggle = () => {
      if (isNew) members.delete(id);
      else removed[isGone ? 'delete' : 'add'](id);
      draw();
    };
    return h(
      'li',
      h('span.grow.clip', isGone ? h('del', text) : text, ' ', h('span.soft.small', id)),
      isNew ? h('span.tag', t('relation.new')) : null,
      h(
        'button.quiet',
        {
          type: 'button',
          'aria-label': t(isGone ? 'relation.keepOf' : 'relation.removeOf', { name: text }),
          onclick: toggle,
        },
        t(isGone ? 'relation.keep' : 'relation.remove'),
      ),
    );
  }
  function add() {
    pickPointer(target, null, (value) => {
      if (!value || value.className !== target || members.has(value.objectId)) return;
      members.set(value.objectId, { text: value.objectId, isNew: true });
      draw();
    });
  }
  draw();
  return dialog({
    title: t('relation.title', { field: name, target }),
    text: count > results.length ? t('relation.more', { n: results.length, count }) : null,
    content: [list, h('button', { type: 'button', onclick: add }, t('relation.add'))],
    isChanged: () => removed.size > 0 || [...members.values()].some(({ isNew }) => isNew),
    async submit() {
      const added = [...members].filter(([, { isNew }]) => isNew).map(([id]) => id);
      const change = operation(target, added, [...removed]);
      if (!change) return;
      await update(className, row.objectId, { [name]: change });
      toast(t('relation.saved', { field: name }));
    },
  });
}
