// The history of a product from the audit log, in words.

import { h } from '../../shared/dom.js';
import { errorText } from '../../shared/elements/toast.js';
import { dateTime, number, price } from '../../shared/format.js';
import { hasText, t } from '../../shared/i18n.js';
import { askIfThere } from '../shell/areas.js';
import { absent, withOlder } from './older.js';

const PAGE = 20;
/** Characters shown of a value. */
const LONG = 160;
/** The labels of fields in the form's order. A photo counts as one change, although it has two files. */
const labels = {
  name: 'product.name',
  unitPrice: 'product.price',
  stock: 'product.stock',
  active: 'product.forSale',
  brand: 'product.brand',
  detail: 'product.detail',
  fullsizeImage: 'product.photo',
  thumbnail: 'product.photo',
};

/**
 * The card below a product.
 * @param titles the brands' titles by id.
 * @returns null when the operator may not read the history.
 */
export async function historyCard(product, titles) {
  let first;
  try {
    first = await entriesOf(product);
  } catch (error) {
    // The product can still be edited.
    return absent.includes(error.code) ? null : card(h('p.problem', errorText(error)));
  }
  const load = (after) => entriesOf(product, after);
  const shown = first.entries.length
    ? withOlder(first, load, (entry) => step(entry, titles))
    : h('p.nothing', t('history.none'));
  return card(shown, h('p.hint', t('history.hint')));
}

function card(...content) {
  return h('section.card.history', h('header', h('h2', t('history.title'))), content);
}

function entriesOf(product, after) {
  const asked = { className: 'Product', objectId: product.objectId, limit: PAGE };
  return askIfThere('auditEntries', after ? { ...asked, after } : asked);
}

function step(entry, titles) {
  const who = entry.via === 'masterKey' ? t('history.masterKey') : entry.who || t('history.nobody');
  const key = `history.${entry.action}`;
  const lines = changesOf(entry, titles).map((change) => h('li', sentence(change)));
  return h(
    'li.done',
    h('strong', hasText(key) ? t(key) : entry.action),
    h('p.soft.small', `${dateTime(entry.at)} · ${who}`),
    lines.length ? h('ul.small.changes', lines) : null,
  );
}

function sentence({ name, before, after }) {
  if (before === null) return t('history.set', { name, after });
  return after === null ? t('history.gone', { name, before }) : t('history.fromTo', { name, before, after });
}

/**
 * The changes of an entry: `{ name, before, after }` in words, null for no value. For an added product only the fields
 * of its form.
 */
export function changesOf({ before, after, action }, titles = new Map()) {
  const [old, now] = [before ?? {}, after ?? {}];
  const names = [...new Set([...Object.keys(old), ...Object.keys(now)])].filter(
    (name) => action === 'update' || Object.hasOwn(labels, name),
  );
  const order = Object.keys(labels);
  const place = (name) => (order.includes(name) ? order.indexOf(name) : order.length);
  return names
    .sort((a, b) => place(a) - place(b) || a.localeCompare(b))
    .filter((name) => name !== 'thumbnail' || !names.includes('fullsizeImage'))
    .map((name) => ({
      name: Object.hasOwn(labels, name) ? t(labels[name]) : name,
      before: words(name, old[name], titles),
      after: words(name, now[name], titles),
    }));
}

function words(name, value, titles) {
  if (value === undefined || value === null) return null;
  if (value === '(hidden)') return t('history.hidden');
  if (name === 'unitPrice' && typeof value === 'number') return price(value);
  if (name === 'active') return t(value === false ? 'history.no' : 'history.yes');
  if (typeof value === 'boolean') return t(value ? 'history.yes' : 'history.no');
  if (typeof value === 'number') return number(value);
  if (value.__type === 'Pointer') return titles.get(value.objectId) ?? value.objectId;
  if (value.__type === 'File') return t('history.file');
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return t('history.text', { text: text.length > LONG ? `${text.slice(0, LONG)}…` : text });
}
