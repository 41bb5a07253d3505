// Products as a spreadsheet table, and the changes in an edited table. No requests.

import { parseCSV, writeCSV } from '../../shared/csv.js';
import { decimals, decimalText, exampleMoney, parseMoney } from '../../shared/format.js';
import { majorOf, minorOf } from './changes.js';

export const columns = ['objectId', 'name', 'detail', 'brand', 'unitPrice', 'priceUnit', 'stock', 'active'];
const STOCK_MAX = 1e9;
const REMOVED = { __op: 'Delete' };

export function productsAsCSV(products) {
  const row = (product) =>
    columns.map((column) => {
      if (column === 'brand') return product.brand?.title;
      if (column === 'active') return product.active !== false;
      if (column === 'unitPrice' && product.unitPrice !== undefined) return decimalText(minorOf(product.unitPrice));
      return product[column];
    });
  return writeCSV([columns, ...products.map(row)]);
}

/**
 * Parses a file to rows with values by column.
 * @returns `{ rows: [{ line, values, extra }], unknown, missing, repeated }`; the last three are names of columns.
 */
export function readTable(text) {
  const [head, ...body] = parseCSV(text);
  const names = (head?.cells ?? []).map((name) => name.trim());
  const known = names.filter((name) => columns.includes(name));
  return {
    unknown: names.filter((name) => !columns.includes(name)),
    repeated: known.filter((name, index) => known.indexOf(name) !== index),
    missing: known.includes('objectId') || known.includes('name') ? [] : ['objectId'],
    rows: body.map(({ line, cells }) => ({
      line,
      isLong: cells.length > names.length,
      values: Object.fromEntries(
        names.flatMap((name, index) => (columns.includes(name) ? [[name, cells[index] ?? '']] : [])),
      ),
    })),
  };
}

/**
 * The changes that the rows would make.
 * @param products the products in the rows, by objectId.
 * @param brands every brand.
 * @returns for each row `{ line, id, name, isNew, body, changes, problems }`: changes are `{ column, before, after }`,
 *   problems `{ key, values }` of a text; `body` is null for a row without changes or with problems.
 */
export function planRows(rows, products, brands) {
  const seen = new Set();
  return rows.map((row) => {
    const id = (row.values.objectId ?? '').trim();
    const product = id ? products.get(id) : undefined;
    const plan = {
      line: row.line,
      id,
      isNew: !id,
      name: row.values.name || product?.name || id,
      changes: [],
      problems: [],
    };
    const problem = (key, values = {}) => {
      plan.problems.push({ key, values });
    };
    if (row.isLong) problem('csv.tooLong');
    if (id && !product) problem('csv.noProduct', { id });
    if (id && seen.has(id)) problem('csv.twice', { id });
    seen.add(id);
    const body = {};
    for (const column of columns.slice(1)) {
      const text = row.values[column];
      if (text === undefined || (plan.isNew && text.trim() === '' && column !== 'name' && column !== 'unitPrice'))
        continue;
      const value = readers[column](text, { product, brands, problem });
      if (value === undefined) continue;
      const before = product?.[column];
      if (isSame(column, before, value)) continue;
      body[column] = value;
      plan.changes.push({ column, before: shown(column, before), after: shown(column, value, brands) });
    }
    if (plan.isNew && row.values.name === undefined) problem('csv.noName');
    if (plan.isNew && row.values.unitPrice === undefined)
      problem('csv.badPrice', { text: '', example: exampleMoney() });
    if (plan.isNew && !body.priceUnit) body.priceUnit = 'ea';
    plan.body = plan.problems.length || !plan.changes.length ? null : body;
    return plan;
  });
}

/** Each function parses a cell; undefined after it has reported a problem. */
const readers = {
  name: (text, { problem }) => text.trim() || problem('csv.noName'),
  detail: (text) => (text.trim() ? text : REMOVED),
  priceUnit: (text) => text.trim() || REMOVED,
  unitPrice(text, { problem }) {
    const places = decimals();
    // First in the form of exported files, then in the reader's format.
    const plain = (places ? new RegExp(`^(\\d+)(?:\\.(\\d{1,${places}}))?$`) : /^(\d+)$/).exec(text.trim());
    const minor = plain ? Number(plain[1] + (plain[2] ?? '').padEnd(places, '0')) : parseMoney(text);
    const isRight = minor >= 0 && Number.isSafeInteger(minor);
    return isRight ? majorOf(minor) : problem('csv.badPrice', { text, example: exampleMoney() });
  },
  stock(text, { problem }) {
    if (text.trim() === '') return REMOVED;
    const pieces = /^\s*\d{1,10}\s*$/.test(text) ? Number(text) : NaN;
    return pieces <= STOCK_MAX ? pieces : problem('csv.badStock', { text });
  },
  active(text, { problem }) {
    const word = text.trim().toLowerCase();
    if (['true', '1', 'yes', 'wahr', 'ja'].includes(word)) return true;
    if (['false', '0', 'no', 'falsch', 'nein'].includes(word)) return false;
    return problem('csv.badActive', { text });
  },
  brand(text, { product, brands, problem }) {
    const title = text.trim();
    if (!title) return REMOVED;
    // A product keeps its brand even when another brand has the same title.
    if (product?.brand?.title?.trim() === title) return undefined;
    const found = brands.filter((brand) => brand.title?.trim() === title);
    if (found.length === 1) return { __type: 'Pointer', className: 'Category', objectId: found[0].objectId };
    return problem(found.length ? 'csv.brandTwice' : 'csv.noBrand', { text });
  },
};

function isSame(column, before, value) {
  if (value === REMOVED) return before === undefined || before === null || before === '';
  if (column === 'active') return (before ?? true) === value;
  if (column === 'unitPrice') return before !== undefined && minorOf(before) === minorOf(value);
  return before === value;
}

function shown(column, value, brands = []) {
  if (value === undefined || value === null || value === REMOVED) return null;
  if (column !== 'brand') return value;
  return value.title ?? brands.find((brand) => brand.objectId === value.objectId)?.title ?? value.objectId;
}
