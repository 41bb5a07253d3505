// The app's parameters (Config): typed values, some readable with the master key only. The operator reviews the old and
// new value before each save.

import { call } from '../../../shared/api.js';
import { kindOf, shown } from '../../../shared/browser/types.js';
import { h } from '../../../shared/dom.js';
import { dialog } from '../../../shared/elements/dialog.js';
import { table } from '../../../shared/elements/table.js';
import { toast } from '../../../shared/elements/toast.js';
import { t } from '../../../shared/i18n.js';
import { change, fieldsOf, kinds, typedValue } from '../../operations/config-change.js';
import { guarded, head } from '../../operations/shared.js';
import { runs } from '../../shell/areas.js';

export async function render({ router, signal, redraw }) {
  return guarded(router, 'config', async () => {
    const all = await read(signal);
    const after = (done) => done && redraw();
    const add = h(
      'button.primary',
      { type: 'button', onclick: () => edit(null, after).then(after) },
      t('ops.addParameter'),
    );
    return [head(router, 'config', h('div.actions', add)), list(all, after)];
  });
}

/** Every parameter: `{ name, value, isHidden }`, by name. */
async function read(signal) {
  // Only admins may read hidden parameters.
  const path = runs('admins') ? '/operations/config' : '/config';
  const { params, masterKeyOnly = {} } = await call('GET', path, { signal });
  return Object.entries(params)
    .map(([name, value]) => ({ name, value, isHidden: masterKeyOnly[name] === true }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

function list(all, after) {
  const button = (kind, key, work) => (one) =>
    h(
      `button${kind}`,
      { type: 'button', 'aria-label': `${t(key)}: ${one.name}`, onclick: () => work(one, after).then(after) },
      t(key),
    );
  const table_ = table(
    [
      { title: t('ops.name'), lead: true, cell: ({ name }) => h('code', name) },
      { title: t('ops.type'), cell: ({ value }) => t(`ops.type.${kindOf(value) ?? 'object'}`) },
      { title: t('ops.value'), cell: ({ value }) => h('span.words', shown(value)) },
      { title: t('ops.readBy'), cell: ({ isHidden }) => readers(isHidden) },
      { title: '', cell: (one) => (kinds.includes(kindOf(one.value)) ? button('', 'action.edit', edit)(one) : '') },
      { title: '', cell: button('.danger', 'action.delete', remove) },
    ],
    { label: t('ops.tab.config'), id: ({ name }) => name, empty: t('ops.noParameters') },
  );
  table_.rows = all;
  return table_;
}

const readers = (isHidden) =>
  isHidden ? h('span.tag.warn', t('ops.masterKeyOnly')) : h('span.tag', t('ops.readByEverybody'));

/** First the form for the new value, then the review of the change. */
async function edit(before, after) {
  const wanted = await dialog({
    title: before ? before.name : t('ops.addParameter'),
    confirm: t('ops.toPreview'),
    fields: fieldsOf(before),
    submit: ({ name, kind, value, isHidden }) => ({
      name: before?.name ?? name.trim(),
      value: typedValue(kind, value),
      isHidden: isHidden === 'on',
    }),
  });
  if (!wanted) return null;
  return confirmed(before, wanted, 'action.save', 'ops.parameterSaved', after);
}

const remove = (before, after) => confirmed(before, null, 'action.delete', 'ops.deleted', after);

function confirmed(before, after, confirm, done, redraw) {
  const { name } = after ?? before;
  return dialog({
    title: name,
    isWide: true,
    isDanger: !after,
    confirm: t(confirm),
    content: preview(before, after),
    async submit() {
      await save(name, before, after);
      const takeBack = async () => {
        await save(name, after, before);
        await redraw(true);
      };
      toast(t(done, { name }), 'good', takeBack);
    },
  });
}

/** @throws a translated error when another operator has changed the parameter. */
async function save(name, before, after) {
  const now = (await read()).find((one) => one.name === name);
  const body = change(before, after, now);
  if (!body) throw new Error(t('ops.changedMeanwhile'));
  await call('PUT', '/config', { body });
}

function preview(before, after) {
  const text = (one) => (one ? JSON.stringify(one.value, null, 2) : '–');
  const row = (title, [was, is]) =>
    h('tr', h('th', { scope: 'row' }, title), h('td', h('del', was)), h('td', h('ins', is)));
  return h(
    'div.changes',
    { role: 'group', 'aria-label': t('bulk.preview'), tabindex: 0 },
    h(
      'table.lines',
      h(
        'thead',
        h(
          'tr',
          ['', t('bulk.before'), t('bulk.after')].map((one) => h(one ? 'th' : 'td', one)),
        ),
      ),
      h(
        'tbody',
        row(t('ops.value'), [text(before), text(after)]),
        row(
          t('ops.readBy'),
          [before, after].map((one) => (one ? t(one.isHidden ? 'ops.masterKeyOnly' : 'ops.readByEverybody') : '–')),
        ),
      ),
    ),
  );
}
