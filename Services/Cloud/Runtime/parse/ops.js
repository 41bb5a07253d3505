'use strict';
// The operations of a field: what they make of a value, what they are after one another, and how they are written.
const types = require('./types');
const { decode, encode, same } = require('./codec');

class Op {
  /** The value after the operation; `object` and `key` say where a new relation stands. */
  applyTo(value, _object, _key) {
    return value;
  }

  /** The one operation that stands for `previous` and then this one. */
  mergeWith(previous) {
    if (!previous) return this;
    if (previous instanceof UnsetOp) return new SetOp(this.applyTo(undefined));
    if (previous instanceof SetOp) return new SetOp(this.applyTo(previous.value));
    throw new Error(`A field cannot have ${this.constructor.name} after ${previous.constructor.name} in one save.`);
  }
}

class SetOp extends Op {
  constructor(value) {
    super();
    this.value = value;
  }

  applyTo() {
    return this.value;
  }

  mergeWith() {
    return this;
  }

  toJSON() {
    return encode(this.value, { pointers: true });
  }
}

class UnsetOp extends Op {
  applyTo() {
    return undefined;
  }

  mergeWith() {
    return this;
  }

  toJSON() {
    return { __op: 'Delete' };
  }
}

class IncrementOp extends Op {
  constructor(amount) {
    super();
    if (typeof amount !== 'number') throw new TypeError('An increment needs an amount that is a number.');
    this.amount = amount;
  }

  applyTo(value) {
    if (value === undefined || value === null) return this.amount;
    if (typeof value !== 'number') throw new TypeError('Cannot increment a non-numeric value.');
    return value + this.amount;
  }

  mergeWith(previous) {
    if (previous instanceof IncrementOp) return new IncrementOp(previous.amount + this.amount);
    return super.mergeWith(previous);
  }

  toJSON() {
    return { __op: 'Increment', amount: this.amount };
  }
}

/** What the operations on arrays share; a kind of its own says what it makes of the elements. */
class ArrayOp extends Op {
  constructor(objects) {
    super();
    this.objects = this.normal(Array.isArray(objects) ? objects : [objects]);
  }

  normal(objects) {
    return objects;
  }

  applyTo(value) {
    if (value === undefined || value === null) return this.applied([]);
    if (!Array.isArray(value)) throw new Error(`Cannot ${this.verb} a non-array value.`);
    return this.applied(value);
  }

  mergeWith(previous) {
    if (!previous || previous.constructor !== this.constructor) return super.mergeWith(previous);
    return new this.constructor([...previous.objects, ...this.objects]);
  }

  toJSON() {
    return { __op: this.name, objects: encode(this.objects, { pointers: true }) };
  }
}

const distinct = (objects) => objects.filter((object, at) => objects.findIndex((other) => same(object, other)) === at);
const lacks = (objects, object) => !objects.some((other) => same(other, object));

class AddOp extends ArrayOp {
  get name() { return 'Add'; }
  get verb() { return 'add elements to'; }

  applied(elements) {
    return [...elements, ...this.objects];
  }
}

class AddUniqueOp extends ArrayOp {
  get name() { return 'AddUnique'; }
  get verb() { return 'add elements to'; }

  normal(objects) {
    return distinct(objects);
  }

  applied(elements) {
    return [...elements, ...this.objects.filter((object) => lacks(elements, object))];
  }
}

class RemoveOp extends ArrayOp {
  get name() { return 'Remove'; }
  get verb() { return 'remove elements from'; }

  normal(objects) {
    return distinct(objects);
  }

  applied(elements) {
    return elements.filter((element) => lacks(this.objects, element));
  }

  mergeWith(previous) {
    return previous instanceof UnsetOp ? previous : super.mergeWith(previous);
  }
}

class RelationOp extends Op {
  /** Objects, or ids when the class is given. */
  constructor(added, removed, className = null) {
    super();
    this.targetClassName = className;
    this.relationsToAdd = [...new Set((added || []).map((object) => this.#id(object)))];
    this.relationsToRemove = [...new Set((removed || []).map((object) => this.#id(object)))];
  }

  #id(object) {
    if (typeof object === 'string') return object;
    if (!object.id) throw new Error('You cannot add or remove an unsaved Parse Object from a relation.');
    this.targetClassName = this.targetClassName || object.className;
    if (this.targetClassName !== object.className) {
      throw new Error(`A relation has objects of one class, not of ${this.targetClassName} and ${object.className}.`);
    }
    return object.id;
  }

  applyTo(value, object, key) {
    if (value && !(value instanceof types.Relation)) throw new Error(`The field ${key} is not a relation.`);
    const relation = value || new types.Relation(object, key);
    if (this.targetClassName && relation.targetClassName && this.targetClassName !== relation.targetClassName) {
      const [has, given] = [relation.targetClassName, this.targetClassName];
      throw new Error(`The relation ${key} has objects of ${has}, not of ${given}.`);
    }
    relation.targetClassName = relation.targetClassName || this.targetClassName;
    return relation;
  }

  mergeWith(previous) {
    if (!previous || (previous instanceof SetOp && previous.value instanceof types.Relation)) return this;
    if (previous instanceof UnsetOp) throw new Error('You cannot modify a relation after deleting it.');
    if (!(previous instanceof RelationOp)) return super.mergeWith(previous);
    const className = previous.targetClassName || this.targetClassName;
    if (this.targetClassName && className !== this.targetClassName) {
      throw new Error(`A relation has objects of one class, not of ${className} and ${this.targetClassName}.`);
    }
    const [adds, removes] = [this.relationsToAdd, this.relationsToRemove];
    const added = [...previous.relationsToAdd.filter((id) => !removes.includes(id)), ...adds];
    const removed = [...previous.relationsToRemove.filter((id) => !adds.includes(id)), ...removes];
    return new RelationOp(added, removed, className);
  }

  toJSON() {
    const pointers = (ids) => ids.map((objectId) => ({ __type: 'Pointer', className: this.targetClassName, objectId }));
    const ops = [];
    if (this.relationsToAdd.length) ops.push({ __op: 'AddRelation', objects: pointers(this.relationsToAdd) });
    if (this.relationsToRemove.length) ops.push({ __op: 'RemoveRelation', objects: pointers(this.relationsToRemove) });
    return ops.length === 2 ? { __op: 'Batch', ops } : ops[0] || { __op: 'AddRelation', objects: [] };
  }
}

/** The operation that JSON with `__op` describes. */
function operationOf(json) {
  const objects = () => decode(json.objects) || [];
  switch (json.__op) {
    case 'Delete': return new UnsetOp();
    case 'Increment': return new IncrementOp(json.amount);
    case 'SetOnInsert': return new SetOp(decode(json.amount));
    case 'Add': return new AddOp(objects());
    case 'AddUnique': return new AddUniqueOp(objects());
    case 'Remove': return new RemoveOp(objects());
    case 'AddRelation': return new RelationOp(objects(), []);
    case 'RemoveRelation': return new RelationOp([], objects());
    case 'Batch': return (json.ops || []).map(operationOf).reduce((first, then) => then.mergeWith(first));
    default: throw new Error(`There is no operation ${json.__op}.`);
  }
}

Object.assign(types, { Op, RelationOp, operationOf });
module.exports = { AddOp, AddUniqueOp, IncrementOp, Op, RelationOp, RemoveOp, SetOp, UnsetOp, operationOf };
