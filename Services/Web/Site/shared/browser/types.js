// Fields of Parse objects: their kinds, their text in a cell, and parsing typed texts.

import { dateTime } from '../format.js';
import { fromLocal, localText } from '../zone.js';

/** Fields that every object has and only the server writes. */
export const fixed = ['objectId', 'createdAt', 'updatedAt'];

const wireKinds = {
  Date: 'date',
  Pointer: 'pointer',
  Object: 'pointer',
  GeoPoint: 'geo',
  File: 'file',
  Relation: 'relation',
  Bytes: 'bytes',
  Polygon: 'polygon',
};

/** The kind of a value; null when the value does not show it. */
export function kindOf(value) {
  if (value === null || value === undefined) return null;
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'object') return Object.hasOwn(wireKinds, value.__type) ? wireKinds[value.__type] : 'object';
  return { string: 'text', number: 'number', boolean: 'boolean' }[typeof value] ?? null;
}

/** Kinds whose values can be sorted. */
export const isSortable = (kind) => ['text', 'number', 'boolean', 'date'].includes(kind);
export const isEditable = (column) => !fixed.includes(column.name);
/** Kinds with a form field; the others have dialogs. */
export const isTyped = (column) => isEditable(column) && !['file', 'relation', 'acl'].includes(column.kind);

/** The columns of some rows, `{ name, kind, target }`; `target` is the class of a pointer or relation. */
export function columnsOf(rows) {
  const found = new Map([['objectId', { name: 'objectId', kind: 'text' }]]);
  for (const row of rows) {
    for (const [name, value] of Object.entries(row)) {
      const kind = kindOf(value);
      if (kind && !found.has(name) && ![...fixed, 'ACL'].includes(name)) {
        found.set(name, { name, kind, ...(value.className && kind !== 'object' ? { target: value.className } : {}) });
      }
    }
  }
  const own = [...found.values()];
  return [
    ...own,
    { name: 'createdAt', kind: 'date' },
    { name: 'updatedAt', kind: 'date' },
    { name: 'ACL', kind: 'acl' },
  ];
}

const CELL = 120;

const texts = {
  text: String,
  number: String,
  boolean: (value) => (value ? '✓' : '✗'),
  date: dateTime,
  pointer: (value) => `${value.className ?? '?'} ${value.objectId ?? ''}`,
  geo: (value) => `${value.latitude}, ${value.longitude}`,
  file: (value) => value.name ?? '',
  relation: (value) => `→ ${value.className ?? ''}`,
};

/** A value as a short text. */
export function shown(value, kind = kindOf(value)) {
  if (value === null || value === undefined) return '';
  if (kind === 'acl') return shownACL(value);
  // A field may hold another kind than in the first row; the server's dates are texts.
  const own = kind === 'date' ? kind : kindOf(value);
  const text = texts[own]?.(value) ?? JSON.stringify(value);
  return text.length > CELL ? `${text.slice(0, CELL)}…` : text;
}

function shownACL(acl) {
  return Object.entries(acl)
    .map(([who, rights]) => `${who} ${rights.read ? 'r' : ''}${rights.write ? 'w' : ''}`)
    .join(', ');
}

/**
 * The value of a typed text for a field of a kind.
 * @throws a SyntaxError for an invalid text.
 */
export function parse(kind, text, target) {
  const bare = text.trim();
  const wrong = new SyntaxError(kind);
  if (kind === 'text') return text;
  if (kind === 'boolean') {
    if (!['true', 'false'].includes(bare)) throw wrong;
    return bare === 'true';
  }
  if (kind === 'number') {
    const value = Number(bare);
    if (bare === '' || !Number.isFinite(value)) throw wrong;
    return value;
  }
  if (kind === 'date') {
    const at = fromLocal(bare);
    if (bare === '' || Number.isNaN(at.getTime())) throw wrong;
    return { __type: 'Date', iso: at.toISOString() };
  }
  if (kind === 'pointer') {
    if (!target || !/^[\w-]{1,64}$/.test(bare)) throw wrong;
    return { __type: 'Pointer', className: target, objectId: bare };
  }
  if (kind === 'geo') {
    const match = /^(-?[\d.]+)\s*[,;\s]\s*(-?[\d.]+)$/.exec(bare);
    const [latitude, longitude] = match ? match.slice(1).map(Number) : [];
    if (!(Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180)) throw wrong;
    return { __type: 'GeoPoint', latitude, longitude };
  }
  const value = JSON.parse(bare);
  if (kind === 'polygon' || kind === 'bytes') return wireValue(kind, value, wrong);
  const isObject = value !== null && typeof value === 'object' && !Array.isArray(value);
  if (kind === 'array' ? !Array.isArray(value) : !isObject) throw wrong;
  return value;
}

/** Polygons and bytes are typed in the protocol's form; for a polygon its corners are enough. */
function wireValue(kind, value, wrong) {
  if (kind === 'bytes') {
    const isBase64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(value?.base64);
    if (value?.__type !== 'Bytes' || typeof value.base64 !== 'string' || !isBase64) throw wrong;
    return { __type: 'Bytes', base64: value.base64 };
  }
  const corners = Array.isArray(value) ? value : value?.__type === 'Polygon' ? value.coordinates : null;
  const isPoint = (point) =>
    Array.isArray(point) && point.length === 2 && Math.abs(point[0]) <= 90 && Math.abs(point[1]) <= 180;
  if (!Array.isArray(corners) || corners.length < 3 || !corners.every(isPoint)) throw wrong;
  return { __type: 'Polygon', coordinates: corners };
}

/** A value as a text for `parse`; a date has the format of a date field, in the shop's time zone. */
export function editable(value, kind) {
  if (value === null || value === undefined) return '';
  if (kind === 'text' || kind === 'number' || kind === 'boolean') return String(value);
  if (kind === 'pointer') return value.objectId ?? '';
  if (kind === 'geo') return `${value.latitude}, ${value.longitude}`;
  if (kind === 'date') return localText(new Date(value.iso ?? value), 23);
  return JSON.stringify(value, null, 2);
}

/**
 * The request that turns one object into another: changed and new fields, and `Delete` for removed ones. Objects are
 * compared in the server's form.
 */
export function changes(before, after) {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  const found = {};
  for (const name of names) {
    if (fixed.includes(name) || JSON.stringify(before[name]) === JSON.stringify(after[name])) continue;
    found[name] = name in after ? after[name] : { __op: 'Delete' };
  }
  return found;
}
