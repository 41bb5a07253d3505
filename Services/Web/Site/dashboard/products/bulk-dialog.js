// Changes of many products: previewed first, each with its own result.

import { fill, h } from '../../shared/dom.js';
import { APIError } from '../../shared/api.js';
import { batch } from '../../shared/batch.js';
import { dialog, field } from '../../shared/elements/dialog.js';
import { errorText, toast } from '../../shared/elements/toast.js';
import { exampleMoney, money, parseMoney } from '../../shared/format.js';
import { t } from '../../shared/i18n.js';
import { fieldError } from '../../shared/problems.js';
import { reverse } from '../../shared/undo.js';
import { counted } from '../lists/listing.js';
import { parsePercent, priceRows, saleRows } from './changes.js';

const kinds = ['percent', 'by', 'to'];

export function changePrices(products, collection) {
  const preview = h('div.changes', { role: 'group', 'aria-label': t('bulk.preview'), tabindex: 0 });
  let rows = [];
  const chosen = { kind: 'percent', value: NaN };

  function draw(form) {
    chosen.kind = form.kind.value;
    chosen.value = chosen.kind === 'percent' ? parsePercent(form.value.value) : parseMoney(form.value.value);
    rows = Number.isNaN(chosen.value) ? [] : priceRows(products, chosen);
    const amount = (value) => (Number.isNaN(value) ? '–' : money(value));
    fill(preview, previewTable(rows, amount));
  }
  const content = h(
    'div.stack',
    { oninput: (event) => draw(event.target.form), onchange: (event) => draw(event.target.form) },
    h(
      'div.pair',
      field({
        name: 'kind',
        label: t('bulk.kind'),
        type: 'select',
        required: true,
        value: chosen.kind,
        options: kinds.map((kind) => [kind, t(`bulk.kind.${kind}`)]),
      }),
      field({ name: 'value', label: t('bulk.value'), required: true, maxlength: 20, hint: t('bulk.valueHint') }),
    ),
    preview,
  );
  return dialog({
    title: counted('bulk.pricesOf', products.length),
    content,
    confirm: t('bulk.apply'),
    async submit() {
      if (Number.isNaN(chosen.value)) throw fieldError('value', t('bulk.badValue', { example: exampleMoney() }));
      if (rows.some((row) => row.isBad)) throw fieldError('value', t('bulk.negative'));
      return apply(rows, collection);
    },
  });
}

export function changeSale(products, collection, active) {
  const rows = saleRows(products, active);
  const word = (isForSale) => t(isForSale ? 'products.show.active' : 'products.show.hidden');
  return dialog({
    title: counted(active ? 'bulk.publishThese' : 'bulk.unpublishThese', products.length),
    content: h(
      'div.changes',
      { role: 'group', 'aria-label': t('bulk.preview'), tabindex: 0 },
      previewTable(rows, word),
    ),
    confirm: t('bulk.apply'),
    submit: () => apply(rows, collection),
  });
}

function previewTable(rows, text) {
  if (!rows.length) return h('p.nothing', t('bulk.nothingYet'));
  const line = (row) => {
    row.place = h('td', row.isBad ? h('span.problem', t('bulk.bad')) : row.change ? '' : t('bulk.same'));
    return h(
      'tr',
      h('th', { scope: 'row' }, row.product.name),
      h('td.end', text(row.before)),
      h('td.end', row.change ? h('strong', text(row.after)) : text(row.after)),
      row.place,
    );
  };
  const titles = [
    [t('product.name'), ''],
    [t('bulk.before'), '.end'],
    [t('bulk.after'), '.end'],
    [t('bulk.result'), ''],
  ];
  return h(
    'table.lines',
    h(
      'thead',
      h(
        'tr',
        titles.map(([title, kind]) => h(`th${kind}`, { scope: 'col' }, title)),
      ),
    ),
    h('tbody', rows.map(line)),
  );
}

/**
 * Sends the changes that have not succeeded yet. A refusal is shown in its row; pressing the button again retries only
 * those.
 */
async function apply(rows, collection) {
  const waiting = rows.filter((row) => row.change && !row.isDone);
  const answers = await batch(
    waiting.map((row) => ({ method: 'PUT', path: `/classes/Product/${row.product.objectId}`, body: row.change })),
  );
  for (const [index, row] of waiting.entries()) {
    const answer = answers[index];
    row.isDone = !(answer instanceof APIError);
    fill(row.place, row.isDone ? h('span.tag.good', t('bulk.done')) : h('span.problem', errorText(answer)));
    if (row.isDone) await collection.change(row.product.objectId, row.change, async () => answer);
  }
  const failed = waiting.filter((row) => !row.isDone).length;
  const done = rows.filter((row) => row.isDone).length;
  if (failed) throw new Error(counted('bulk.failed', failed));
  toast(counted('bulk.changed', done), 'good', () => takeBack(rows, collection));
  return true;
}

async function takeBack(rows, collection) {
  const back = rows
    .filter((row) => row.isDone)
    .map(({ product, change }) => ({ id: product.objectId, change: reverse(product, change) }));
  const answers = await batch(
    back.map(({ id, change }) => ({ method: 'PUT', path: `/classes/Product/${id}`, body: change })),
  );
  for (const [index, { id, change }] of back.entries()) {
    if (!(answers[index] instanceof APIError)) await collection.change(id, change, async () => answers[index]);
  }
  const failed = answers.filter((answer) => answer instanceof APIError).length;
  if (failed) throw new Error(counted('bulk.failed', failed));
}
