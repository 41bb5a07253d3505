'use strict';
// Parse.Query: its class, options and JSON. The constraints are in query-constraints.js, requests in query-rest.js.
const types = require('../types');
const { ParseError } = require('../error');
const { classOf, constraints } = require('./query-constraints');

/** Members of a query's JSON that are stored in properties of the query; all others are passed on as options. */
const OWN = new Set([
  'where', 'include', 'keys', 'excludeKeys', 'limit', 'skip', 'order', 'count', 'className', 'watch',
]);

/** A list that the protocol encodes as comma-separated text or as an array. */
function listOf(value) {
  return Array.isArray(value) ? [...value] : String(value).split(',').filter(Boolean);
}

function ordered(keys, prefix) {
  return keys.flat().flatMap((key) => key.replace(/\s/g, '').split(',')).filter(Boolean).map((key) => prefix + key);
}

class Query {
  /** @param ofClass a class's name, a subclass of Parse.Object or an object of one */
  constructor(ofClass) {
    this.className = nameOf(ofClass);
    this._where = {};
    this._include = [];
    this._exclude = [];
    this._select = null;
    this._watch = null;
    this._limit = -1;
    this._skip = 0;
    this._order = null;
    this._count = false;
    this._extraOptions = {};
    Object.defineProperty(this, '_cancelled', { value: null, writable: true });
  }

  static or(...queries) {
    return new Query(classOf(queries.flat()))._orQuery(queries.flat());
  }

  static and(...queries) {
    return new Query(classOf(queries.flat()))._andQuery(queries.flat());
  }

  static nor(...queries) {
    return new Query(classOf(queries.flat()))._norQuery(queries.flat());
  }

  static fromJSON(className, json) {
    return new Query(className).withJSON(json);
  }

  toJSON() {
    const json = { where: this._where };
    if (this._include.length) json.include = this._include.join(',');
    if (this._exclude.length) json.excludeKeys = this._exclude.join(',');
    if (this._select) json.keys = this._select.join(',');
    if (this._watch) json.watch = this._watch.join(',');
    if (this._count) json.count = 1;
    if (this._limit >= 0) json.limit = this._limit;
    if (this._skip > 0) json.skip = this._skip;
    if (this._order) json.order = this._order.join(',');
    return Object.assign(json, this._extraOptions);
  }

  /** Applies the query that JSON describes. */
  withJSON(json) {
    if (json.where) this._where = json.where;
    if (json.include) this._include = listOf(json.include);
    if (json.keys) this._select = listOf(json.keys);
    if (json.watch) this._watch = listOf(json.watch);
    if (json.excludeKeys) this._exclude = listOf(json.excludeKeys);
    if (json.order) this._order = listOf(json.order);
    if (json.limit !== undefined && json.limit !== null) this._limit = Number(json.limit);
    if (json.skip) this._skip = Number(json.skip);
    if (json.count) this._count = true;
    for (const [key, value] of Object.entries(json)) {
      if (!OWN.has(key)) this._extraOptions[key] = value;
    }
    return this;
  }

  ascending(...keys) {
    this._order = ordered(keys, '');
    return this;
  }

  addAscending(...keys) {
    this._order = [...(this._order || []), ...ordered(keys, '')];
    return this;
  }

  descending(...keys) {
    this._order = ordered(keys, '-');
    return this;
  }

  addDescending(...keys) {
    this._order = [...(this._order || []), ...ordered(keys, '-')];
    return this;
  }

  skip(number) {
    if (typeof number !== 'number' || number < 0) throw new Error('You can only skip by a positive number');
    this._skip = number;
    return this;
  }

  limit(number) {
    if (typeof number !== 'number') throw new Error('You can only set the limit to a numeric value');
    this._limit = number;
    return this;
  }

  withCount(wanted = true) {
    if (typeof wanted !== 'boolean') throw new Error('You can only set withCount to a boolean value');
    this._count = wanted;
    return this;
  }

  include(...keys) {
    this._include.push(...keys.flat());
    return this;
  }

  includeAll() {
    return this.include('*');
  }

  /** Fields of which one must change for a live query to report an update. */
  watch(...keys) {
    this._watch = [...(this._watch || []), ...keys.flat()];
    return this;
  }

  select(...keys) {
    this._select = [...(this._select || []), ...keys.flat()];
    return this;
  }

  exclude(...keys) {
    this._exclude.push(...keys.flat());
    return this;
  }

  hint(value) {
    if (value === undefined) delete this._extraOptions.hint;
    else this._extraOptions.hint = value;
    return this;
  }

  comment(value) {
    if (value !== undefined && typeof value !== 'string') throw new Error('The value of a comment must be a string.');
    if (value === undefined) delete this._extraOptions.comment;
    else this._extraOptions.comment = value;
    return this;
  }

  explain(wanted = true) {
    if (typeof wanted !== 'boolean') throw new Error('You can only set explain to a boolean value');
    this._extraOptions.explain = wanted;
    return this;
  }

  readPreference(preference, includes, subqueries) {
    const named = { readPreference: preference, includeReadPreference: includes, subqueryReadPreference: subqueries };
    for (const [key, value] of Object.entries(named)) if (value) this._extraOptions[key] = value;
    return this;
  }

  fromNetwork() {
    return this;
  }

  fromLocalDatastore() {
    throw new ParseError(ParseError.COMMAND_UNAVAILABLE, 'Cloud code has no local datastore.');
  }

  subscribe() {
    throw new ParseError(ParseError.COMMAND_UNAVAILABLE, 'Cloud code cannot subscribe to a live query.');
  }

  /** A query with the same constraints and options. */
  _copy() {
    return new Query(this.className).withJSON(JSON.parse(JSON.stringify(this.toJSON())));
  }
}

for (const [name, value] of Object.entries(constraints)) {
  Object.defineProperty(Query.prototype, name, { value, writable: true, configurable: true });
}

function nameOf(ofClass) {
  if (ofClass === 'User') return '_User';
  if (typeof ofClass === 'string') return ofClass;
  if (ofClass instanceof types.Object) return ofClass.className;
  if (typeof ofClass === 'function') {
    if (typeof ofClass.className === 'string') return ofClass.className;
    if (ofClass.prototype instanceof types.Object) return new ofClass().className;
  }
  throw new TypeError('A Parse.Query must be constructed with a Parse.Object or class name.');
}

types.Query = Query;
module.exports = { Query };
