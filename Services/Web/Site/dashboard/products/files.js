// Exports products to a file, and imports them from one: the changes are previewed before they are sent.

import { APIError, find } from '../../shared/api.js';
import { batch } from '../../shared/batch.js';
import { CSVError } from '../../shared/csv.js';
import { fill, h } from '../../shared/dom.js';
import { dialog, field } from '../../shared/elements/dialog.js';
import { errorText, failure, toast } from '../../shared/elements/toast.js';
import { t } from '../../shared/i18n.js';
import { rounds } from '../../shared/waiting.js';
import { dayText } from '../../shared/zone.js';
import { saveFile } from '../forms/save-file.js';
import { planTable } from './csv-preview.js';
import { counted } from '../lists/listing.js';
import { planRows, productsAsCSV, readTable } from './csv.js';

const PAGE = 1000;
const IDS = 150;
const BYTES_MAX = 5 << 20;
const ROWS_MAX = 5000;

/** Every product of a list, by objectId: changes during the export make no page skip a product. */
export async function exportProducts(where, button) {
  button.disabled = true;
  try {
    const all = [];
    for (let last = ''; ; last = all.at(-1).objectId) {
      const rest = last ? { $and: [where, { objectId: { $gt: last } }] } : where;
      const { results } = await find('Product', { where: rest, order: 'objectId', limit: PAGE, include: 'brand' });
      all.push(...results);
      if (results.length < PAGE) break;
    }
    saveFile(`products-${dayText(new Date())}.csv`, 'text/csv', productsAsCSV(all));
    toast(counted('csv.exported', all.length));
  } catch (error) {
    failure(error);
  } finally {
    button.disabled = false;
  }
}

export function importProducts() {
  const place = h('div', { 'aria-live': 'polite' });
  let plans = null;
  const begin = rounds();

  async function read(event) {
    const file = event.target.files[0];
    const isLast = begin();
    plans = null;
    fill(place);
    if (!file) return;
    try {
      const found = await plan(file);
      if (!isLast()) return;
      plans = found.plans;
      fill(place, planTable(found));
    } catch (error) {
      if (isLast()) fill(place, h('p.problem', error instanceof CSVError ? t('csv.quotes', error) : errorText(error)));
    }
  }
  return dialog({
    title: t('csv.importTitle'),
    text: t('csv.importText'),
    isWide: true,
    confirm: t('csv.importConfirm'),
    content: [
      field({
        name: 'file',
        type: 'file',
        label: t('csv.file'),
        required: true,
        accept: '.csv,text/csv',
        onchange: read,
      }),
      place,
    ],
    submit() {
      if (!plans) throw new Error(t('csv.notRead'));
      return send(plans);
    },
  });
}

/** The rows of the file with their changes, compared with the shop's present data. */
async function plan(file) {
  if (file.size > BYTES_MAX) throw new Error(t('csv.tooLarge'));
  const table = readTable(await file.text());
  if (table.missing.length) throw new Error(t('csv.noColumns'));
  if (table.repeated.length) throw new Error(t('csv.repeated', { names: table.repeated.join(', ') }));
  if (table.rows.length > ROWS_MAX) throw new Error(counted('csv.tooMany', ROWS_MAX));
  const ids = [...new Set(table.rows.map((row) => (row.values.objectId ?? '').trim()).filter(Boolean))];
  const products = new Map();
  for (let at = 0; at < ids.length; at += IDS) {
    const where = { objectId: { $in: ids.slice(at, at + IDS) } };
    const { results } = await find('Product', { where, limit: IDS, include: 'brand' });
    for (const product of results) products.set(product.objectId, product);
  }
  const { results: brands } = await find('Category', { order: 'title', limit: PAGE, keys: 'title' });
  return { unknown: table.unknown, plans: planRows(table.rows, products, brands) };
}

/**
 * Sends the changes that have not succeeded yet. A refusal is shown in its row; pressing the button again retries only
 * those.
 */
async function send(plans) {
  const waiting = plans.filter((one) => one.body && !one.isDone);
  if (!waiting.length) throw new Error(t('csv.nothing'));
  const answers = await batch(
    waiting.map(({ id, body }) => ({
      method: id ? 'PUT' : 'POST',
      path: id ? `/classes/Product/${encodeURIComponent(id)}` : '/classes/Product',
      body,
    })),
  );
  for (const [index, one] of waiting.entries()) {
    one.isDone = !(answers[index] instanceof APIError);
    // The new product may exist, so that it is not sent again.
    if (!one.isDone && one.isNew && answers[index].isUnsure) one.body = null;
    fill(one.place, one.isDone ? h('span.tag.good', t('bulk.done')) : h('span.problem', errorText(answers[index])));
  }
  const failed = waiting.filter((one) => !one.isDone).length;
  if (failed) throw new Error(counted('bulk.failed', failed));
  toast(counted('csv.imported', plans.filter((one) => one.isDone).length));
  return true;
}
