// Actions on whole rows: add one, edit one as JSON, delete some with an undo period.

import { auth, call, create } from '../../shared/api.js';
import { Deletions } from '../../shared/browser/deletions.js';
import { changes, editable, isTyped, parse } from '../../shared/browser/types.js';
import { fill, h } from '../../shared/dom.js';
import { dialog } from '../../shared/elements/dialog.js';
import { failure, toast } from '../../shared/elements/toast.js';
import { t } from '../../shared/i18n.js';
import { about, fieldError } from '../../shared/problems.js';
import { server } from '../../shared/settings.js';
import { parsed } from './editors.js';

const BATCH = 50;
const OTHER = '_others';
const types = {
  number: 'text',
  date: 'datetime-local',
  array: 'textarea',
  object: 'textarea',
  polygon: 'textarea',
  bytes: 'textarea',
};

/** A row with a field for each known column; further fields, also new ones, as JSON. */
export function addRow(className, columns) {
  const known = columns.filter(isTyped);
  const fields = known.map(({ name, kind, target }) => ({
    name,
    label: name,
    type: kind === 'boolean' ? 'select' : types[kind],
    options: ['', 'true', 'false'].map((text) => [text, text ? t(`data.${text}`) : t('data.noValue')]),
    hint: kind === 'pointer' ? t('data.pointerTo', { target }) : kind === 'geo' ? t('data.pointHint') : null,
  }));
  return dialog({
    title: t('data.addRowTo', { className }),
    confirm: t('data.addRow'),
    fields: [...fields, { name: OTHER, label: t('data.others'), type: 'textarea', hint: t('data.othersHint') }],
    async submit(values) {
      const object = values[OTHER].trim() ? about(OTHER, () => parsed('object', values[OTHER])) : {};
      for (const { name, kind, target } of known) {
        if ((values[name] ?? '') === '') continue;
        try {
          object[name] = parse(kind, values[name], target);
        } catch {
          throw fieldError(name, t('data.badValueOf', { field: name }));
        }
      }
      const made = await create(className, object);
      toast(t('data.added', { id: made.objectId }));
      return { ...object, ...made };
    },
  });
}

/** A whole row as JSON: changed fields are sent, missing fields are removed. */
export function editRow(row, save) {
  return dialog({
    title: row.objectId,
    fields: [
      {
        name: 'text',
        type: 'textarea',
        rows: 16,
        label: t('data.wholeRow'),
        value: editable(row, 'object'),
        hint: t('data.wholeRowHint'),
      },
    ],
    submit({ text }) {
      const changed = about('text', () => changes(row, parsed('object', text)));
      return Object.keys(changed).length ? save(changed) : undefined;
    },
  });
}

export const deletions = new Deletions();
auth.onEnd(() => deletions.undoAll());

/**
 * Deletes rows after ten seconds, and offers to keep them until then.
 * @param settle is called with the ids and whether they were deleted.
 */
export function deleteRows(className, ids, settle) {
  const gone = new Set();
  const bar = h('div.undo', { role: 'status' });
  const undo = deletions.add(
    ids,
    () => send(className, ids, gone),
    (outcome) => {
      bar.remove();
      if (gone.size) toast(t('data.deleted', { n: gone.size }));
      if (outcome instanceof Error) failure(outcome);
      settle(ids, (id) => gone.has(id));
    },
  );
  document.body.append(bar);
  fill(
    bar,
    h('p', t('data.deleting', { n: ids.length })),
    h('button', { type: 'button', onclick: () => undo() }, t('data.undo')),
  );
}

/**
 * The response to each batch shows which rows were deleted. The first refusal is thrown after all batches were sent.
 */
async function send(className, ids, gone) {
  let refusal = null;
  for (let first = 0; first < ids.length; first += BATCH) {
    const some = ids.slice(first, first + BATCH);
    const requests = some.map((id) => ({ method: 'DELETE', path: `${server.mount}/classes/${className}/${id}` }));
    const answers = await call('POST', '/batch', { body: { requests } });
    for (const [index, answer] of answers.entries()) {
      // 101: another client has already deleted the row.
      if (answer.success || answer.error?.code === 101) gone.add(some[index]);
      else refusal ??= Object.assign(new Error(answer.error?.error), { code: answer.error?.code });
    }
  }
  if (refusal) throw refusal;
}
