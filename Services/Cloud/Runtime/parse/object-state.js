'use strict';
// What one object knows of itself: what the server has, and the operations that were not saved yet.
const types = require('./types');
const { decode, encode } = require('./codec');

const DATES = new Set(['createdAt', 'updatedAt']);

/**
 * The state of an object. Values of the server stay JSON until somebody asks for them: whoever got none cannot have
 * changed one in place, so only what was decoded is compared with how it was.
 */
class ObjectState {
  constructor() {
    this.json = new Map();
    this.values = new Map();
    this.snapshots = new Map();
    /** Operations by key: the last map is what the next save takes; those before it are on their way. */
    this.pending = [new Map()];
    this.existed = false;
    /** The save that is on its way, as a promise. */
    this.saving = null;
  }

  get latest() {
    return this.pending[this.pending.length - 1];
  }

  /** Takes over JSON of the server for some fields; undefined means that the field is gone. */
  commit(fields) {
    for (const [key, value] of Object.entries(fields)) {
      this.forget(key);
      if (value !== undefined && !(value && value.__op === 'Delete')) this.json.set(key, value);
    }
  }

  /** Takes over a value that was saved. */
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

  /** The value of a field with every operation that was not saved yet. */
  estimate(key, owner) {
    let value = this.value(key, owner);
    for (const operations of this.pending) {
      for (const [path, operation] of operations) {
        if (path === key || path.startsWith(`${key}.`)) value = applied(value, path, operation, owner);
      }
    }
    return value;
  }

  /** The server's value of a field after one operation. */
  applied(path, operation, owner) {
    return applied(this.value(path.split('.')[0], owner), path, operation, owner);
  }

  /** Whether a field has been looked at or changed. */
  isDecoded(key) {
    return !this.json.has(key) || this.pending.some((operations) => operations.has(key));
  }

  /** Every field that has a value or an operation. */
  estimatedKeys() {
    const keys = new Set(this.keys());
    for (const operations of this.pending) for (const path of operations.keys()) keys.add(path.split('.')[0]);
    return [...keys];
  }

  /** Fields whose object or array was changed in place. */
  changedInPlace() {
    return [...this.snapshots.keys()].filter((key) => {
      if (this.pending.some((operations) => operations.has(key))) return false;
      return this.snapshots.get(key) !== snapshot(this.values.get(key));
    });
  }

  copy() {
    const copied = new ObjectState();
    for (const key of this.keys()) {
      if (this.json.has(key)) copied.json.set(key, this.json.get(key));
      else copied.commitValue(key, this.values.get(key));
    }
    copied.pending = this.pending.map((operations) => new Map(operations));
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

/** A text that changes when the value does. An unsaved object inside is a change. */
function snapshot(value) {
  try {
    return JSON.stringify(encode(value, { pointers: true }));
  } catch {
    return null;
  }
}

/** A field's value after an operation on it, or on a member of it. */
function applied(value, path, operation, owner) {
  const [key, ...members] = path.split('.');
  return members.length ? appliedInside(value, members, operation) : operation.applyTo(value, owner, key);
}

/** A copy of an object in which an operation was applied to a member, at any depth. */
function appliedInside(container, [member, ...deeper], operation) {
  const copied = container && typeof container === 'object' ? { ...container } : {};
  copied[member] = deeper.length
    ? appliedInside(copied[member], deeper, operation) : operation.applyTo(copied[member], null, member);
  if (copied[member] === undefined) delete copied[member];
  return copied;
}

module.exports = { DATES, ObjectState };
