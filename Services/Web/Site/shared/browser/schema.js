// The schemas of classes: their columns, the request to add one, and their indexes with their origin.

import { fixed, parse, columnsOf as rowColumns } from './types.js';

/** The protocol's types with the kind of their values (`types.js`), in the order of the selection list. */
const kinds = {
  String: 'text',
  Number: 'number',
  Boolean: 'boolean',
  Date: 'date',
  Pointer: 'pointer',
  Relation: 'relation',
  Array: 'array',
  Object: 'object',
  GeoPoint: 'geo',
  Polygon: 'polygon',
  File: 'file',
  Bytes: 'bytes',
};

export const types = Object.keys(kinds);
export const hasTarget = (type) => type === 'Pointer' || type === 'Relation';
/** Types whose default value can be typed; a relation has none, and a file would have to be uploaded first. */
export const hasDefault = (type) => !['Relation', 'File', 'Bytes', 'Polygon'].includes(type);
export const isClassName = (name) => /^_?[A-Za-z][A-Za-z0-9_]{0,127}$/.test(name);
export const isFieldName = (name) => /^[A-Za-z][A-Za-z0-9_]{0,127}$/.test(name);

/** Fields that every class has; they cannot be added or deleted. */
export const standard = [...fixed, 'ACL'];

/** A class' own columns, `{ name, kind, type, target, required, defaultValue }`, in the schema's order. */
export function fieldsOf(schema) {
  return Object.entries(schema?.fields ?? {})
    .filter(([name]) => !standard.includes(name))
    .map(([name, { type, targetClass, required, defaultValue }]) => ({
      name,
      kind: Object.hasOwn(kinds, type) ? kinds[type] : 'object',
      type,
      ...(targetClass ? { target: targetClass } : {}),
      required: required === true,
      defaultValue,
    }));
}

/**
 * The columns of a class: the schema's, then the ones that only rows have, between the standard columns. Without a
 * schema, the columns of the rows.
 */
export function columnsOf(schema, rows) {
  const [id, ...found] = rowColumns(rows);
  const own = fieldsOf(schema);
  const names = new Set(own.map(({ name }) => name));
  return [id, ...own, ...found.filter(({ name }) => !names.has(name))];
}

/**
 * The request to add a column.
 * @param values `{ type, target, required, defaultValue }`; the default as a text, empty for none.
 * @throws Error with the `key` of a text, for an invalid definition.
 */
export function definition({ type, target = '', required = false, defaultValue = '' }) {
  const field = { type };
  if (hasTarget(type)) {
    if (!isClassName(target.trim())) throw refusal('schema.badTarget');
    field.targetClass = target.trim();
  }
  if (type === 'Relation') return field;
  if (required) field.required = true;
  if (defaultValue !== '' && hasDefault(type)) {
    try {
      field.defaultValue = parse(kinds[type], defaultValue, field.targetClass);
    } catch {
      throw refusal('schema.badDefault');
    }
  }
  return field;
}

/** A default value or another JSON value as a short text. */
export function valueText(value) {
  if (value === undefined || value === null) return '';
  if (typeof value !== 'object') return String(value);
  if (value.__type === 'Date') return value.iso;
  if (value.__type === 'Pointer') return value.objectId;
  if (value.__type === 'GeoPoint') return `${value.latitude}, ${value.longitude}`;
  return JSON.stringify(value);
}

/**
 * A class' indexes, `{ name, fields, by, state, at, isDropped }`: `by` is `satchel` for an automatic index, `wish` for
 * one requested to be built in the background, `operator` for any other. An automatic index that an operator deleted
 * has the state `unwanted`.
 */
export function indexesOf(schema) {
  const automatic = schema?.automaticIndexes ?? {};
  const listed = Object.entries(schema?.indexes ?? {}).filter(([name]) => name !== '_id_');
  const own = listed
    .filter(([name]) => !Object.hasOwn(automatic, name))
    .map(([name, fields]) => ({ name, fields: directions(fields), by: 'operator', state: 'ready' }));
  const made = Object.entries(automatic).map(([name, { fields, madeBy, madeAt, state }]) => ({
    name,
    fields: fieldNames(fields),
    by: madeBy === 'operator' ? 'wish' : 'satchel',
    at: madeAt?.iso ?? madeAt,
    state,
  }));
  return [...own, ...made];
}

function directions(fields) {
  return Object.entries(fields)
    .filter(([name]) => !name.startsWith('_'))
    .map(([name, direction]) => (direction === -1 ? `-${name}` : name));
}

function fieldNames(fields) {
  return Array.isArray(fields) ? fields.map(String) : Object.keys(fields ?? {});
}

/**
 * The request to add an index.
 * @param text names separated by commas; a minus sign means descending order.
 * @throws Error with the `key` of a text.
 */
export function indexOf(text, known) {
  const names = text
    .split(/[\s,]+/)
    .filter(Boolean)
    .filter((name, place, all) => all.indexOf(name) === place);
  const bare = names.map((name) => name.replace(/^-/, ''));
  const isTwice = new Set(bare).size < bare.length;
  if (!names.length || isTwice || bare.some((name) => !known.includes(name))) throw refusal('schema.badIndex');
  return {
    name: names.map((name) => name.replace('-', 'desc_')).join('_'),
    fields: {
      ...Object.fromEntries(names.map((name) => [name.replace(/^-/, ''), name.startsWith('-') ? -1 : 1])),
      _order: bare,
    },
  };
}

export function refusal(key, values = {}) {
  return Object.assign(new Error(key), { key, values });
}
