'use strict';
const types = require('../types');

/** The objects that a field of another object relates to. */
class Relation {
  constructor(parent, key) {
    this.parent = parent;
    this.key = key;
    this.targetClassName = null;
  }

  static ofClass(className) {
    const relation = new Relation(null, null);
    relation.targetClassName = className || null;
    return relation;
  }

  /** Sets the object and field of a relation that was decoded from JSON. */
  _ensureParentAndKey(parent, key) {
    this.parent = parent;
    this.key = key;
  }

  add(objects) {
    return this.#change(objects, []);
  }

  remove(objects) {
    return this.#change([], objects);
  }

  #change(added, removed) {
    if (!this.parent) throw new Error('A relation without an object cannot be changed.');
    const operation = new types.RelationOp([].concat(added), [].concat(removed));
    this.parent.set(this.key, operation);
    this.targetClassName = operation.targetClassName || this.targetClassName;
    return this.parent;
  }

  toJSON() {
    return { __type: 'Relation', className: this.targetClassName };
  }

  /** The query for the related objects. If the relation's class is still unknown, the server determines it. */
  query() {
    if (!this.parent || !this.parent.id) throw new Error('A relation of an unsaved object has no query.');
    const query = new types.Query(this.targetClassName || this.parent.className);
    if (!this.targetClassName) query._extraOptions.redirectClassNameForKey = this.key;
    query._where.$relatedTo = { object: this.parent.toPointer(), key: this.key };
    return query;
  }
}

types.Relation = Relation;
module.exports = { Relation };
