'use strict';
// The state of one object: the server's values, and the unsaved operations.
const types = require('../types');
const { decode, encode } = require('../codec');
const { RelationOp, SetOp, UnsetOp } = require('./ops');

const DATES = new Set(['createdAt', 'updatedAt']);

/** Maximum elements that a path may add beyond the end of an array: the server's limit. */
const GAP_MAX = 1000;
const INDEX = /^(0|[1-9][0-9]{0,8})$/;
const NONE = new Map();

const fieldOf = (path) => path.split('.', 1)[0];

/** A path and all its prefixes: `a`, `a.b` and `a.b.c` for `a.b.c`. */
function prefixesOf(path) {
  const prefixes = [];
  for (let end = path.indexOf('.'); end >= 0; end = path.indexOf('.', end + 1)) prefixes.push(path.slice(0, end));
  return [...prefixes, path];
}

/**
 * Operations by path. A write may change thousands of members of one field, so the cost of each step must depend only
 * on the path's length.
 */
class Operations extends Map {
  constructor(operations = []) {
    super();
    /** For each path with operations, the operations on it and below it. */
    this.under = new Map();
    for (const [path, operation] of operations) this.set(path, operation);
  }

  set(path, operation) {
    for (const prefix of prefixesOf(path)) {
      if (!this.under.has(prefix)) this.under.set(prefix, new Map());
      this.under.get(prefix).set(path, operation);
    }
    return super.set(path, operation);
  }

  delete(path) {
    for (const prefix of prefixesOf(path)) {
      const operations = this.under.get(prefix) || NONE;
      operations.delete(path);
      if (!operations.size) this.under.delete(prefix);
    }
    return super.delete(path);
  }

  /** The operations on a path and on members of its value, in the order in which they were made. */
  of(path) {
    return this.under.get(path) || NONE;
  }

  /** Whether there are operations on members of the value at a path. */
  hasBelow(path) {
    return this.of(path).size > (this.has(path) ? 1 : 0);
  }

  /** Removes the operations on a path and below it. */
  deleteAll(path) {
    for (const inner of [...this.of(path).keys()]) this.delete(inner);
  }
}

const isWhole = (operation) => operation instanceof SetOp || operation instanceof UnsetOp;

/**
 * The state of an object. The server's values stay JSON until code reads them. A value that was never read cannot have
 * been changed in place, so only decoded values are compared with their original state.
 */
class ObjectState {
  constructor() {
    this.json = new Map();
    this.values = new Map();
    this.snapshots = new Map();
    /** Returned values of fields with operations on members: code may have changed them in place. */
    this.estimates = new Map();
    /** Operations by key: the last map belongs to the next save; earlier ones belong to saves in progress. */
    this.pending = [new Operations()];
    this.existed = false;
    /** The save in progress, as a promise. */
    this.saving = null;
  }

  get latest() {
    return this.pending[this.pending.length - 1];
  }

  /** Stores the server's JSON for some fields; undefined means that the field was removed. */
  commit(fields) {
    for (const [key, value] of Object.entries(fields)) {
      this.forget(key);
      if (value !== undefined && !(value && value.__op === 'Delete')) this.json.set(key, value);
    }
  }

  /** Stores a saved value. */
  commitValue(key, value) {
    this.forget(key);
    if (value === undefined) return;
    this.values.set(key, value);
    if (isContainer(value)) this.snapshots.set(key, snapshot(value));
  }

  forget(key) {
    this.json.delete(key);
    this.values.delete(key);
    this.snapshots.delete(key);
    this.estimates.delete(key);
  }

  /**
   * Adds an operation to the next save. It is merged with an earlier operation on its path, or with the set operation
   * of the enclosing value. If the two cannot be merged, the resulting value is set.
   */
  change(path, operation, owner) {
    const { latest } = this;
    this.keepInPlace(fieldOf(path));
    const outer = prefixesOf(path).slice(0, -1).find((prefix) => isWhole(latest.get(prefix)));
    if (outer !== undefined) {
      latest.set(outer, inside(latest.get(outer), path.slice(outer.length + 1).split('.'), operation));
    } else {
      const merged = this.merged(path, operation, owner);
      if (isWhole(merged)) latest.deleteAll(path);
      latest.set(path, merged);
    }
    this.estimates.delete(fieldOf(path));
  }

  merged(path, operation, owner) {
    const previous = this.latest.get(path);
    const isAlone = isWhole(operation) || operation instanceof RelationOp;
    const fits = !previous || isWhole(previous) || previous.constructor === operation.constructor;
    if (isAlone || (fits && !this.latest.hasBelow(path))) return operation.mergeWith(previous);
    return new SetOp(operation.applyTo(this.valueAt(path, owner)));
  }

  /** Reverts unsaved changes of a field, or of the value at a path. */
  revert(path) {
    this.latest.deleteAll(path);
    this.estimates.delete(fieldOf(path));
  }

  /** Converts a value that code changed in place, in addition to operations on its members, to a set operation. */
  keepInPlace(field) {
    const known = this.estimates.get(field);
    if (!known || known.snapshot === snapshot(known.value)) return;
    this.latest.deleteAll(field);
    this.latest.set(field, new SetOp(known.value));
    this.estimates.delete(field);
  }

  keepAllInPlace() {
    for (const field of [...this.estimates.keys()]) this.keepInPlace(field);
  }

  clear() {
    for (const key of this.keys()) this.forget(key);
  }

  keys() {
    return [...new Set([...this.json.keys(), ...this.values.keys()])];
  }

  isEmpty() {
    return this.json.size === 0 && this.values.size === 0;
  }

  /** The server's value of a field. */
  value(key, owner) {
    if (this.values.has(key) || !this.json.has(key)) return this.values.get(key);
    const value = decoded(key, this.json.get(key));
    if (value instanceof types.Relation) value._ensureParentAndKey(owner, key);
    this.json.delete(key);
    this.commitValue(key, value);
    return value;
  }

  /** The value of a field with all unsaved operations applied. */
  estimate(key, owner) {
    if (this.estimates.has(key)) return this.estimates.get(key).value;
    let value = this.value(key, owner);
    const copies = new Set();
    for (const operations of this.pending) {
      for (const [path, operation] of operations.of(key)) value = applied(value, path, operation, owner, copies);
    }
    if (this.hasBelow(key) && isContainer(value)) this.estimates.set(key, { value, snapshot: snapshot(value) });
    return value;
  }

  /** The value at a path, with all unsaved operations applied. */
  valueAt(path, owner) {
    const [field, ...members] = path.split('.');
    const value = this.estimate(field, owner);
    return members.reduce((container, member) => (leadsInto(container, member) ? container[member] : undefined), value);
  }

  /** Whether there are operations on members of a field. */
  hasBelow(field) {
    return this.pending.some((operations) => operations.hasBelow(field));
  }

  /** The last unsaved operation on a path. */
  operation(path) {
    return [...this.pending].reverse().map((operations) => operations.get(path)).find(Boolean);
  }

  /** The server's value of a field after one operation. */
  applied(path, operation, owner) {
    return applied(this.value(path.split('.')[0], owner), path, operation, owner);
  }

  /** Whether a field has been read or changed. */
  isDecoded(key) {
    return !this.json.has(key) || this.pending.some((operations) => operations.of(key).size > 0);
  }

  /** Every field that has a value or an operation. */
  estimatedKeys() {
    return [...new Set([...this.keys(), ...this.changedFields()])];
  }

  /** Every field with an operation on it or on its members. */
  changedFields() {
    return [...new Set(this.pending.flatMap((operations) => [...operations.keys()].map(fieldOf)))];
  }

  /** Fields whose object or array was changed in place. */
  changedInPlace() {
    return [...this.snapshots.keys()].filter((key) => {
      if (this.pending.some((operations) => operations.has(key))) return false;
      return this.snapshots.get(key) !== snapshot(this.values.get(key));
    });
  }

  copy() {
    this.keepAllInPlace();
    const copied = new ObjectState();
    for (const key of this.keys()) {
      if (this.json.has(key)) copied.json.set(key, this.json.get(key));
      else copied.commitValue(key, this.values.get(key));
    }
    copied.pending = this.pending.map((operations) => new Operations(operations));
    copied.existed = this.existed;
    return copied;
  }
}

function decoded(key, json) {
  if (key === 'ACL' && json && typeof json === 'object') return new types.ACL(json);
  if (DATES.has(key) && typeof json === 'string') return new Date(json);
  return decode(json);
}

function isContainer(value) {
  if (value === null || typeof value !== 'object') return false;
  return !(value instanceof types.Object || value instanceof types.File || value instanceof types.Relation);
}

/** A text that changes when the value does. An unsaved object inside counts as a change. */
function snapshot(value) {
  try {
    return JSON.stringify(encode(value, { pointers: true }));
  } catch {
    return null;
  }
}

/**
 * A field's value after an operation on it, or on a member of it.
 * @param copies objects that were copied for earlier operations and may be changed
 */
function applied(value, path, operation, owner, copies = new Set()) {
  const [key, ...members] = path.split('.');
  return members.length ? appliedInside(value, members, operation, copies) : operation.applyTo(value, owner, key);
}

/** A copy of a value with an operation applied to a member, at any depth; the value itself when the path ends early. */
function appliedInside(container, [member, ...deeper], operation, copies = new Set()) {
  const isMissing = container === undefined || container === null;
  if (!leadsInto(container, member) || (isMissing && operation instanceof UnsetOp)) return container;
  const copied = copies.has(container) ? container : copyOf(container);
  copies.add(copied);
  const value = deeper.length
    ? appliedInside(copied[member], deeper, operation, copies) : operation.applyTo(copied[member], null, member);
  if (Array.isArray(copied)) setElement(copied, Number(member), value);
  else if (value === undefined) delete copied[member];
  else copied[member] = value;
  return copied;
}

/** As on the server: a removed element of an array, and the gap between its end and a new element, become null. */
function setElement(elements, index, value) {
  if (value === undefined && index >= elements.length) return;
  while (elements.length < index) elements.push(null);
  elements[index] = value === undefined ? null : value;
}

/**
 * Whether a path continues into a value: into an object, or into an array by an index, but not into a date or a file.
 */
function leadsInto(container, member) {
  if (Array.isArray(container)) return INDEX.test(member) && Number(member) <= container.length + GAP_MAX;
  if (member === '__proto__') return false;
  if (container === undefined || container === null) return true;
  return typeof container === 'object' && typeof container.toJSON !== 'function';
}

function copyOf(container) {
  return Array.isArray(container) ? [...container] : { ...container };
}

/** The set operation of a whole value after an operation on one of its members. */
function inside(whole, members, operation) {
  if (whole instanceof UnsetOp && operation instanceof UnsetOp) return whole;
  return new SetOp(appliedInside(whole.value, members, operation));
}

module.exports = { DATES, ObjectState, Operations };
