// Filters that operators build, converted to the protocol's conditions and to the page's URL.

import { parse } from './types.js';

const comparisons = ['is', 'isNot', 'above', 'atLeast', 'below', 'atMost'];
const presence = ['exists', 'missing'];

/** The operations for each kind of field. */
export const operations = {
  text: ['contains', 'is', 'isNot', 'starts', ...presence],
  number: [...comparisons, ...presence],
  date: ['above', 'atLeast', 'below', 'atMost', ...presence],
  boolean: ['is', ...presence],
  pointer: ['is', 'isNot', ...presence],
  array: ['has', 'hasNot', 'hasAll', ...presence],
  geo: ['near', ...presence],
};

export const operationsOf = (kind) => (Object.hasOwn(operations, kind) ? operations[kind] : presence);
export const needsValue = (operation) => !presence.includes(operation);

const signs = { isNot: '$ne', above: '$gt', atLeast: '$gte', below: '$lt', atMost: '$lte' };
const EARTH_KM = 6371;
const FIELD = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;

const escaped = (text) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');

/** An array's member is typed as JSON; any other text is taken as a text. */
function member(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/**
 * The condition of one filter, `{ field, kind, operation, value, target }`; `value` is the typed text.
 * @throws a SyntaxError for a value that the field cannot have.
 */
export function constraint({ kind, operation, value, target }) {
  if (operation === 'exists') return { $exists: true };
  if (operation === 'missing') return { $exists: false };
  if (operation === 'contains') return { $regex: escaped(value), $options: 'i' };
  if (operation === 'starts') return { $regex: `^${escaped(value)}` };
  if (operation === 'has') return { $in: [member(value)] };
  if (operation === 'hasNot') return { $nin: [member(value)] };
  if (operation === 'hasAll') return { $all: parse('array', value) };
  if (operation === 'near') return near(value);
  const wanted = parse(kind, value, target);
  return operation === 'is' ? { $eq: wanted } : { [signs[operation]]: wanted };
}

/** `latitude, longitude, kilometres`. It avoids `$nearSphere`, which sorts and therefore supports no cursor. */
function near(text) {
  const parts = text.split(/[,;\s]+/).filter(Boolean);
  const point = parse('geo', parts.slice(0, 2).join(', '));
  const kilometres = Number(parts[2]);
  if (parts.length !== 3 || !(kilometres > 0)) throw new SyntaxError('geo');
  return { $geoWithin: { $centerSphere: [[point.longitude, point.latitude], kilometres / EARTH_KM] } };
}

/** The `where` condition that requires all filters, also several of one field. */
export function condition(filters) {
  const all = filters.map((filter) => ({ [filter.field]: constraint(filter) }));
  return all.length > 1 ? { $and: all } : (all[0] ?? {});
}

/** Filters as a parameter of the page's URL. */
export function written(filters) {
  if (!filters.length) return '';
  return JSON.stringify(
    filters.map(({ field, kind, operation, value, target }) => [field, kind, operation, value ?? '', target ?? '']),
  );
}

/** The filters in a URL; invalid ones are dropped. */
export function read(text) {
  let list;
  try {
    list = JSON.parse(text || '[]');
  } catch {
    return [];
  }
  if (!Array.isArray(list)) return [];
  return list.flatMap((parts) => {
    if (!Array.isArray(parts) || !parts.every((part) => typeof part === 'string')) return [];
    const [field, kind, operation, value, target] = parts;
    const filter = { field, kind, operation, value, target };
    if (!FIELD.test(field ?? '') || field === 'ACL' || !operationsOf(kind).includes(operation)) return [];
    try {
      constraint(filter);
    } catch {
      return [];
    }
    return [filter];
  });
}
