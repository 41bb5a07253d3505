'use strict';
// Parse.Object: fields and their operations. Subclasses are in object-class.js, requests in object-rest.js.
const types = require('../types');
const { encode } = require('../codec');
const { ParseError } = require('../error');
const { lentKeys, lentValue } = require('./lent');
const { DATES, ObjectState } = require('./object-state');
const { AddOp, AddUniqueOp, IncrementOp, Op, RemoveOp, SetOp, UnsetOp, operationOf } = require('./ops');
const underscore = require('../underscore');

const FIELD_NAME = /^[A-Za-z_][0-9A-Za-z_.]*$/;

class ParseObject {
  constructor(className, attributes, options) {
    Object.defineProperty(this, '_state', { value: new ObjectState(), writable: true });
    const named = typeof className === 'string';
    this.className = named ? className : (className && className.className) || this.constructor.className;
    this.initialize(...(named ? [attributes, options] : [className, attributes]));
    const { className: _, ...others } = !named && className && typeof className === 'object' ? className : {};
    const first = named ? attributes : others;
    if (first && typeof first === 'object' && !this.set(first, named ? options : attributes)) {
      throw new Error("Can't create an invalid Parse Object");
    }
  }

  initialize() {}

  get attributes() {
    const attributes = {};
    for (const key of this._state.estimatedKeys()) {
      const value = this._state.estimate(key, this);
      if (value !== undefined) attributes[key] = value;
    }
    return Object.freeze(attributes);
  }

  get createdAt() {
    return this._state.value('createdAt', this);
  }

  get updatedAt() {
    return this._state.value('updatedAt', this);
  }

  get(key) {
    const value = this._state.estimate(key, this);
    return value === undefined ? lentValue(this, key) : value;
  }

  has(key) {
    const value = this.get(key);
    return value !== undefined && value !== null;
  }

  escape(key) {
    const value = this.get(key);
    return value === undefined || value === null ? '' : underscore.escape(String(value));
  }

  relation(key) {
    const value = this.get(key);
    if (value && !(value instanceof types.Relation)) throw new Error(`Called relation() on non-relation field ${key}`);
    const relation = value || new types.Relation(this, key);
    relation._ensureParentAndKey(this, key);
    return relation;
  }

  /** Sets a field, or several from an object. Returns false when validate() refuses; otherwise the object. */
  set(key, value, options) {
    if (key && typeof key === 'object') return this._setAll(key, value || {});
    if (typeof key === 'string') return this._setAll({ [key]: value }, options || {});
    return this;
  }

  _setAll(changes, options) {
    const operations = new Map();
    for (const [key, value] of Object.entries(changes)) {
      if (DATES.has(key)) continue;
      if (key === 'objectId' || key === 'id') {
        if (typeof value === 'string') this.id = value;
        continue;
      }
      operations.set(key, options.unset ? new UnsetOp() : this._operation(key, value));
    }
    if (!options.ignoreValidation && !this._accepts(operations, options)) return false;
    for (const [key, operation] of operations) this._state.change(key, operation, this);
    return this;
  }

  _operation(key, value) {
    if (value instanceof Op) return value;
    if (value && typeof value === 'object' && typeof value.__op === 'string') return operationOf(value);
    if (key === 'ACL' && value && typeof value === 'object' && !(value instanceof types.ACL)) {
      return new SetOp(new types.ACL(value));
    }
    if (value instanceof types.Relation) {
      const relation = new types.Relation(this, key);
      relation.targetClassName = value.targetClassName;
      return new SetOp(relation);
    }
    return new SetOp(value);
  }

  _accepts(operations, options) {
    const values = {};
    for (const [key, operation] of operations) {
      if (operation instanceof UnsetOp) continue;
      const current = key.includes('.') ? undefined : this.get(key);
      values[key] = operation.applyTo(current, this, key);
    }
    const refusal = this.validate(values);
    if (refusal && typeof options.error === 'function') options.error(this, refusal);
    return !refusal;
  }

  /** Returns the error in new values; subclasses override it. */
  validate(attributes) {
    if ('ACL' in attributes && !(attributes.ACL instanceof types.ACL)) {
      return new ParseError(ParseError.OTHER_CAUSE, 'ACL must be a Parse ACL.');
    }
    for (const key of Object.keys(attributes)) {
      if (!FIELD_NAME.test(key)) return new ParseError(ParseError.INVALID_KEY_NAME, `Invalid key name: ${key}`);
    }
    return false;
  }

  isValid() {
    return !this.validate(this.attributes);
  }

  unset(key, options) {
    return this.set(key, null, { ...options, unset: true });
  }

  increment(key, amount = 1) {
    if (typeof amount !== 'number') throw new Error('Cannot increment by a non-numeric amount.');
    return this.set(key, new IncrementOp(amount));
  }

  decrement(key, amount = 1) {
    if (typeof amount !== 'number') throw new Error('Cannot decrement by a non-numeric amount.');
    return this.set(key, new IncrementOp(-amount));
  }

  add(key, item) {
    return this.set(key, new AddOp([item]));
  }

  addAll(key, items) {
    return this.set(key, new AddOp(items));
  }

  addUnique(key, item) {
    return this.set(key, new AddUniqueOp([item]));
  }

  addAllUnique(key, items) {
    return this.set(key, new AddUniqueOp(items));
  }

  remove(key, item) {
    return this.set(key, new RemoveOp([item]));
  }

  removeAll(key, items) {
    return this.set(key, new RemoveOp(items));
  }

  op(key) {
    return this._state.operation(key);
  }

  clear() {
    const cleared = {};
    for (const key of Object.keys(this.attributes)) cleared[key] = true;
    return this.set(cleared, { unset: true });
  }

  /** Reverts unsaved changes, of some fields or of all. */
  revert(...keys) {
    if (keys.some((key) => typeof key !== 'string')) throw new Error('revert() takes the names of fields.');
    for (const key of keys.length ? keys : [...this._state.latest.keys()]) this._state.revert(key);
  }

  getACL() {
    const acl = this.get('ACL');
    return acl instanceof types.ACL ? acl : null;
  }

  setACL(acl, options) {
    return this.set('ACL', acl, options);
  }

  isNew() {
    return !this.id;
  }

  existed() {
    return !!this.id && this._state.existed;
  }

  isDataAvailable() {
    return !this._state.isEmpty();
  }

  dirty(key) {
    if (key !== undefined) return this.dirtyKeys().includes(key);
    return !this.id || this.dirtyKeys().length > 0;
  }

  dirtyKeys() {
    const keys = new Set(lentKeys(this));
    for (const operations of this._state.pending) {
      for (const path of operations.keys()) keys.add(path).add(path.split('.')[0]);
    }
    for (const key of this._state.changedInPlace()) keys.add(key);
    return [...keys];
  }

  equals(other) {
    if (this === other) return true;
    return other instanceof ParseObject && !!this.id && this.className === other.className && this.id === other.id;
  }

  toPointer() {
    if (!this.id) throw new Error('Cannot create a pointer to an unsaved ParseObject');
    return { __type: 'Pointer', className: this.className, objectId: this.id };
  }

  toOfflinePointer() {
    return this.toPointer();
  }

  /**
   * The object as JSON. A field that was changed by an operation contains that operation, as in the JavaScript SDK. A
   * field with a changed member contains its value.
   */
  toJSON(seen) {
    return this._json(Array.isArray(seen) ? seen : [this], (operation) => operation.toJSON());
  }

  /** The object as JSON in which every field has its value. Undecoded values are shared with the object. */
  _valuesJSON(seen = [this]) {
    return this._json(seen, (_, key) => encode(this.get(key), { seen }), true);
  }

  _json(seen, changed, shared = false) {
    const json = {};
    for (const key of this._state.keys()) {
      if (shared && this._state.json.has(key)) {
        json[key] = this._state.json.get(key);
        continue;
      }
      const value = this._state.value(key, this);
      json[key] = DATES.has(key) && value instanceof Date ? value.toISOString() : encode(value, { seen });
    }
    for (const field of this._state.changedFields()) {
      const value = this._state.hasBelow(field)
        ? encode(this.get(field), { seen }) : changed(this._state.operation(field), field);
      if (value === undefined) delete json[field];
      else json[field] = value;
    }
    if (this.id) json.objectId = this.id;
    return json;
  }

  _toFullJSON(seen) {
    return { ...this.toJSON(seen), __type: 'Object', className: this.className };
  }

  /** The fields of a save: operations, and values changed in place. */
  _getSaveJSON() {
    const json = {};
    this._state.keepAllInPlace();
    for (const key of this._state.changedInPlace()) json[key] = new SetOp(this._state.value(key, this)).toJSON();
    for (const [key, operation] of this._state.pending[0]) json[key] = operation.toJSON();
    return json;
  }

  /** An unsaved object with the same fields. */
  clone() {
    const clone = new this.constructor(this.className);
    clone.className = this.className;
    const readonly = this.constructor.readOnlyAttributes ? this.constructor.readOnlyAttributes() : [];
    const attributes = Object.entries(this.attributes).filter(([key]) => !readonly.includes(key));
    clone.set(Object.fromEntries(attributes));
    return clone;
  }

  /** Another instance of the same object. */
  newInstance() {
    const instance = new this.constructor(this.className);
    Object.assign(instance, { className: this.className, id: this.id });
    instance._state = this._state.copy();
    return instance;
  }

  /** Stores the server's data of the object. */
  _finishFetch(json) {
    if (json.objectId && !this.id) this.id = json.objectId;
    const { objectId: _, className: __, __type: ___, ...fields } = json;
    if (fields.createdAt && !fields.updatedAt) fields.updatedAt = fields.createdAt;
    this._state.commit(fields);
  }
}

types.Object = ParseObject;
module.exports = { ParseObject };
