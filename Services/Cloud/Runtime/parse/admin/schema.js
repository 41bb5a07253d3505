'use strict';
// Parse.Schema: the fields, indexes and permissions of a class. Every request uses the master key.
const { encode } = require('../codec');
const { promised } = require('../promise');
const { answerOf } = require('../rest');

const TYPES = ['String', 'Number', 'Boolean', 'Date', 'File', 'GeoPoint', 'Polygon', 'Array', 'Object', 'Bytes'];

function asMaster(method, path, body, options) {
  return promised(answerOf(method, path, body, { ...options, useMasterKey: true }), options);
}

class Schema {
  constructor(className) {
    if (typeof className !== 'string' || !className) throw new Error('A schema needs the name of a class.');
    this.className = className;
    this._fields = {};
    this._indexes = {};
    this._clp = null;
  }

  static all(options = {}) {
    return asMaster('GET', '/schemas', {}, options).then(({ results }) => results);
  }

  get(options = {}) {
    return asMaster('GET', `/schemas/${this.className}`, {}, options);
  }

  save(options = {}) {
    return asMaster('POST', `/schemas/${this.className}`, this.#body(), options);
  }

  update(options = {}) {
    return asMaster('PUT', `/schemas/${this.className}`, this.#body(), options);
  }

  delete(options = {}) {
    return asMaster('DELETE', `/schemas/${this.className}`, undefined, options);
  }

  purge(options = {}) {
    return asMaster('DELETE', `/purge/${this.className}`, undefined, options);
  }

  #body() {
    const body = { className: this.className, fields: this._fields, indexes: this._indexes };
    if (this._clp) body.classLevelPermissions = this._clp;
    this._fields = {};
    this._indexes = {};
    return body;
  }

  setCLP(permissions) {
    this._clp = JSON.parse(JSON.stringify(permissions));
    return this;
  }

  addField(name, type = 'String', options = {}) {
    if (!name) throw new Error('field name may not be null.');
    const field = { type, ...options };
    if (options.defaultValue !== undefined) field.defaultValue = encode(options.defaultValue, { pointers: true });
    this._fields[name] = field;
    return this;
  }

  addPointer(name, targetClass, options) {
    return this.addField(name, 'Pointer', { ...options, targetClass });
  }

  addRelation(name, targetClass) {
    return this.addField(name, 'Relation', { targetClass });
  }

  deleteField(name) {
    this._fields[name] = { __op: 'Delete' };
    return this;
  }

  addIndex(name, index) {
    this._indexes[name] = index;
    return this;
  }

  deleteIndex(name) {
    this._indexes[name] = { __op: 'Delete' };
    return this;
  }
}

for (const type of TYPES) {
  Schema.prototype[`add${type}`] = function (name, options) {
    return this.addField(name, type, options);
  };
}

module.exports = { Schema };
