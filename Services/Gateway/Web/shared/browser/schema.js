// Classes as their schemas say: their columns, what is sent to add one, and their indexes with who made them.

import { fixed, parse, columnsOf as rowColumns } from './types.js';

/** The protocol's types with the kind of their values (`types.js`), in the order in which people are offered them. */
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
/** Types whose default can be typed; a relation has none, and a file is not there before it is sent. */
export const hasDefault = (type) => !['Relation', 'File', 'Bytes', 'Polygon'].includes(type);
export const isClassName = (name) => /^_?[A-Za-z][A-Za-z0-9_]{0,127}$/.test(name);
export const isFieldName = (name) => /^[A-Za-z][A-Za-z0-9_]{0,127}$/.test(name);

/** Fields that every class has; nobody adds or deletes them. */
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
 * The columns of a class: those of its schema, then those that rows have and the schema does not yet, between the
 * standard ones. Without a schema, those of the rows.
 */
export function columnsOf(schema, rows) {
  const [id, ...found] = rowColumns(rows);
  const own = fieldsOf(schema);
  const names = new Set(own.map(({ name }) => name));
  return [id, ...own, ...found.filter(({ name }) => !names.has(name))];
}

/**
 * What the server is sent to add a column.
 * @param values `{ type, target, required, defaultValue }`; the default as a text, empty for none.
 * @throws Error with `key`, a text's, for what cannot be meant.
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

/** A default or another value of JSON as a short text. */
export function valueText(value) {
  if (value === undefined || value === null) return '';
  if (typeof value !== 'object') return String(value);
  if (value.__type === 'Date') return value.iso;
  if (value.__type === 'Pointer') return value.objectId;
  if (value.__type === 'GeoPoint') return `${value.latitude}, ${value.longitude}`;
  return JSON.stringify(value);
}

/**
 * A class' indexes, `{ name, fields, by, state, at, isDropped }`: `by` is `satchel` for one that was made by itself,
 * `wish` for one that somebody asked to be built in the background, `operator` for any other. One that somebody deleted
 * and that is not made again has the state `unwanted`.
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
 * What the server is sent to add an index.
 * @param text names with commas between them, those with a minus sign in descending order.
 * @throws Error with `key`, a text's.
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
