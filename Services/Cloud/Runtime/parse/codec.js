'use strict';
// Converts JavaScript values to JSON of the protocol, and back.
const types = require('./types');

/**
 * A value in the protocol's form.
 * @param options.pointers objects become pointers
 * @param options.seen the enclosing objects: they become pointers, so that cycles end
 */
function encode(value, { pointers = false, seen = [] } = {}) {
  if (value === null || typeof value !== 'object') return value;
  if (value instanceof types.Object) return encodeObject(value, pointers, seen);
  if (value instanceof types.File) {
    if (!value._isStored()) throw new Error('Tried to encode an unsaved file.');
    return value.toJSON();
  }
  if (value instanceof types.Query) return { ...value.toJSON(), className: value.className };
  if (typeOfOwn(value)) return value.toJSON();
  if (value instanceof Date) {
    if (Number.isNaN(value.getTime())) throw new Error('Tried to encode an invalid date.');
    return { __type: 'Date', iso: value.toISOString() };
  }
  if (value instanceof RegExp) return value.source;
  if (Buffer.isBuffer(value)) return { __type: 'Bytes', base64: value.toString('base64') };
  if (Array.isArray(value)) return value.map((element) => encode(element, { pointers, seen }));
  const encoded = {};
  for (const key of Object.keys(value)) {
    if (key !== '__proto__') encoded[key] = encode(value[key], { pointers, seen });
  }
  return encoded;
}

function typeOfOwn(value) {
  return [types.ACL, types.GeoPoint, types.Polygon, types.Relation, types.Op].some((type) => value instanceof type);
}

function encodeObject(object, pointers, seen) {
  const known = seen.some((other) => other === object || other.equals(object));
  if (pointers || known || object.dirty() || !object.isDataAvailable()) return object.toPointer();
  return object._toFullJSON([...seen, object]);
}

/** A value of the protocol as a JavaScript value. */
function decode(json) {
  if (json === null || typeof json !== 'object') return json;
  if (json instanceof types.Object) return json;
  if (Array.isArray(json)) return json.map(decode);
  if (typeof json.__op === 'string') return types.operationOf(json);
  switch (json.__type) {
    case 'Pointer':
    case 'Object': return json.className ? types.Object.fromJSON(json) : json;
    case 'Relation': return types.Relation.ofClass(json.className);
    case 'Date': return new Date(json.iso);
    case 'File': return types.File.fromJSON(json);
    case 'GeoPoint': return new types.GeoPoint(json.latitude, json.longitude);
    case 'Polygon': return new types.Polygon(json.coordinates);
    default: return decodeMembers(json);
  }
}

function decodeMembers(json) {
  const decoded = {};
  for (const key of Object.keys(json)) if (key !== '__proto__') decoded[key] = decode(json[key]);
  return decoded;
}

/** Whether two JSON values are equal, regardless of the order of their members. */
function alike(left, right) {
  if (left === right) return true;
  if (left === null || right === null || typeof left !== 'object' || typeof right !== 'object') return false;
  if (Array.isArray(left) !== Array.isArray(right)) return false;
  const keys = Object.keys(left);
  if (keys.length !== Object.keys(right).length) return false;
  return keys.every((key) => Object.prototype.hasOwnProperty.call(right, key) && alike(left[key], right[key]));
}

/** A key that is equal for equal values and differs for different values, for a Set or a Map. */
function keyOf(value) {
  if (typeof value === 'string') return `text ${value}`;
  if (value === null || typeof value !== 'object') return value;
  if (value instanceof types.Object) return value.id ? `object ${value.className} ${value.id}` : value;
  try {
    return `json ${canonical(encode(value, { pointers: true }))}`;
  } catch {
    return value;
  }
}

/** JSON text with members sorted by name. */
function canonical(json) {
  if (json === null || typeof json !== 'object') return typeof json === 'string' ? JSON.stringify(json) : String(json);
  if (Array.isArray(json)) return `[${json.map(canonical).join()}]`;
  return `{${Object.keys(json).sort().map((key) => `${JSON.stringify(key)}:${canonical(json[key])}`).join()}}`;
}

module.exports = { alike, canonical, decode, encode, keyOf };
