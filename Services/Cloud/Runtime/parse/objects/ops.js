'use strict';
// The operations on a field: how they change a value, how they are merged, and their JSON.
const types = require('../types');
const { decode, encode, keyOf } = require('../codec');

class Op {
  /** The value after the operation; `object` and `key` are the location of a new relation. */
  applyTo(value, _object, _key) {
    return value;
  }

  /** A single operation equal to `previous` followed by this one. */
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

/** The common part of array operations; each subclass defines its effect on the elements. */
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

/** The elements without duplicates, and without those in `others`. */
function distinct(objects, others = []) {
  const known = new Set(others.map(keyOf));
  return objects.filter((object) => known.size < known.add(keyOf(object)).size);
}

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
    return [...elements, ...distinct(this.objects, elements)];
  }
}

class RemoveOp extends ArrayOp {
  get name() { return 'Remove'; }
  get verb() { return 'remove elements from'; }

  normal(objects) {
    return distinct(objects);
  }

  applied(elements) {
    const gone = new Set(this.objects.map(keyOf));
    return elements.filter((element) => !gone.has(keyOf(element)));
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
      throw new Error(`The relation ${key} has objects of the class ${has}, not ${given}.`);
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
    const [adds, removes] = [new Set(this.relationsToAdd), new Set(this.relationsToRemove)];
    const added = [...previous.relationsToAdd.filter((id) => !removes.has(id)), ...adds];
    const removed = [...previous.relationsToRemove.filter((id) => !adds.has(id)), ...removes];
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

/** Decodes an operation from JSON with `__op`. */
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
