'use strict';
// The requests of Parse.Query. Adds its methods to it.
const types = require('../types');
const { decode } = require('../codec');
const { ParseError } = require('../error');
const { promised, withoutCallbacks } = require('../promise');
const { Query } = require('./query');
const { answerOf } = require('../rest');

/** Objects that each() and similar methods read at once. */
const BATCH_OBJECTS = 100;

/** An object in a query's answer. If the query selected keys, other fields are unknown rather than missing. */
function objectOf(json, className) {
  return types.Object.fromJSON(json.className ? json : { ...json, className });
}

/**
 * The answer of an aggregate, which needs the master key. The options are sent as a query string, because its text
 * keeps the order of the members in a pipeline, on which `$sort` depends.
 */
async function aggregated({ className }, query, options) {
  const text = Object.entries(query).map(([name, value]) => {
    return `${name}=${encodeURIComponent(typeof value === 'string' ? value : JSON.stringify(value))}`;
  }).join('&');
  return (await answerOf('GET', `/aggregate/${className}`, text, { ...options, useMasterKey: true })).results;
}

const methods = {
  /** The answer to a query, or an empty one when the query is cancelled first. */
  async _request(json, options) {
    const cancelled = new Promise((resolve) => {
      this._cancelled = () => resolve({ results: [], count: 0 });
    });
    return Promise.race([answerOf('GET', `/classes/${this.className}`, json, options), cancelled]);
  },

  async _answers(options) {
    return (await this._request(this.toJSON(), options)).results;
  },

  cancel() {
    if (this._cancelled) this._cancelled();
    return this;
  },

  find(options = {}) {
    return promised(async () => {
      const { results, count, className } = await this._request(this.toJSON(), options);
      if (this._extraOptions.explain) return results;
      const objects = results.map((json) => objectOf(json, className || this.className));
      return this._count ? { results: objects, count } : objects;
    }, options);
  },

  first(options = {}) {
    return promised(async () => {
      const { results, className } = await this._request({ ...this.toJSON(), limit: 1 }, options);
      return results[0] ? objectOf(results[0], className || this.className) : undefined;
    }, options);
  },

  get(objectId, options = {}) {
    return promised(async () => {
      this.equalTo('objectId', objectId);
      const object = await this.first(withoutCallbacks(options));
      if (!object) throw new ParseError(ParseError.OBJECT_NOT_FOUND, 'Object not found.');
      return object;
    }, options);
  },

  count(options = {}) {
    return promised(async () => {
      const { count } = await this._request({ ...this.toJSON(), limit: 0, count: 1 }, options);
      return count;
    }, options);
  },

  distinct(key, options = {}) {
    return promised(async () => {
      const { hint } = this._extraOptions;
      const query = { distinct: key, where: this._where, ...(hint === undefined ? {} : { hint }) };
      return (await aggregated(this, query, options)).map(decode);
    }, options);
  },

  aggregate(pipeline, options = {}) {
    return promised(async () => {
      if (!pipeline || typeof pipeline !== 'object') throw new Error('Invalid pipeline must be Array or Object');
      const stages = Array.isArray(pipeline)
        ? [...pipeline] : Object.entries(pipeline).map(([stage, value]) => ({ [stage]: value }));
      if (Object.keys(this._where).length) stages.unshift({ $match: this._where });
      return aggregated(this, { pipeline: stages }, options);
    }, options);
  },

  /** Calls back with batches of objects ordered by id; awaits the callback's result. */
  eachBatch(callback, options = {}) {
    return promised(async () => {
      if (this._order || this._skip || this._limit >= 0) {
        throw new ParseError(ParseError.OTHER_CAUSE, 'Cannot iterate on a query with sort, skip, or limit.');
      }
      const query = this._copy().ascending('objectId').limit(options.batchSize || BATCH_OBJECTS);
      query.withCount(false);
      // The caller's condition on ids is kept beside the cursor's.
      const where = query._where;
      for (;;) {
        const objects = await query.find(withoutCallbacks(options));
        if (objects.length) await callback(objects);
        if (objects.length < query._limit) return;
        query._where = { ...where };
        const bound = { objectId: { $gt: objects[objects.length - 1].id } };
        if (where.objectId === undefined) Object.assign(query._where, bound);
        else query._where.$and = [...(where.$and || []), bound];
      }
    }, options);
  },

  each(callback, options = {}) {
    return promised(this.eachBatch(async (objects) => {
      for (const object of objects) await callback(object);
    }, withoutCallbacks(options)), options);
  },

  findAll(options = {}) {
    const found = [];
    return promised(this.eachBatch((objects) => {
      found.push(...objects);
    }, withoutCallbacks(options)).then(() => found), options);
  },

  map(callback, options = {}) {
    const mapped = [];
    let index = 0;
    return this.each(async (object) => {
      mapped.push(await callback(object, index++, this));
    }, options).then(() => mapped);
  },

  filter(callback, options = {}) {
    const kept = [];
    let index = 0;
    return this.each(async (object) => {
      if (await callback(object, index++, this)) kept.push(object);
    }, options).then(() => kept);
  },

  reduce(callback, initial, options = {}) {
    let value = initial;
    let index = 0;
    return this.each(async (object) => {
      value = index === 0 && initial === undefined ? object : await callback(value, object, index);
      index += 1;
    }, options).then(() => value);
  },
};

for (const [name, value] of Object.entries(methods)) {
  Object.defineProperty(Query.prototype, name, { value, writable: true, configurable: true });
}
