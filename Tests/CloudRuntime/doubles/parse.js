'use strict';
// A double of the parts of the package `parse` that the runtime uses; the tests do not include the real one. Names and
// behaviour of these parts are the same as in its versions 1.6 to 5.
const LEGACY = false;

const config = { SERVER_URL: 'https://api.parse.com/1', APPLICATION_ID: null, MASTER_KEY: null };
let controller = { request: () => Promise.reject(new Error('The network is not here.')) };
const CoreManager = {
  get: (key) => config[key],
  set(key, value) { config[key] = value; },
  getRESTController: () => controller,
  setRESTController(given) {
    for (const name of ['request', 'ajax']) {
      if (typeof given[name] !== 'function') throw new Error(`RESTController must implement ${name}()`);
    }
    controller = given;
  },
};

class ParseError extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

class SetOp { constructor(value) { this.value = value; } toJSON() { return encode(this.value, true); } }
class UnsetOp { toJSON() { return { __op: 'Delete' }; } }
class IncrementOp {
  constructor(amount) { this.amount = amount; }
  toJSON() { return { __op: 'Increment', amount: this.amount }; }
}
const OPS = [SetOp, UnsetOp, IncrementOp];

function encode(value, pointers) {
  if (value instanceof ParseObject) return pointers || value.dirty() ? value.toPointer() : value._toFullJSON();
  if (value instanceof Date) return { __type: 'Date', iso: value.toISOString() };
  if (OPS.some((Op) => value instanceof Op) || value instanceof ParseFile) return value.toJSON();
  if (Array.isArray(value)) return value.map((one) => encode(one, pointers));
  if (!value || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, encode(one, pointers)]));
}

function decode(value) {
  if (!value || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map(decode);
  if (value.__op === 'Delete') return new UnsetOp();
  if (value.__op === 'Increment') return new IncrementOp(value.amount);
  if (value.__type === 'Pointer' || value.__type === 'Object') return ParseObject.fromJSON(value);
  if (value.__type === 'Date') return new Date(value.iso);
  if (value.__type === 'File') return ParseFile.fromJSON(value);
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, decode(one)]));
}

const classes = {};
const TIMES = ['createdAt', 'updatedAt'];

class ParseObject {
  constructor(className, attributes = {}) {
    this.className = className;
    this.server = {};
    this.pending = {};
    this.wasThere = false;
    for (const [key, value] of Object.entries(attributes)) this.set(key, value);
  }

  static fromJSON(json) {
    if (!json.className) throw new Error('Cannot create an object without a className');
    const Class = classes[json.className];
    const object = Class ? new Class() : new ParseObject(json.className);
    for (const [key, value] of Object.entries(json)) {
      if (key === 'objectId') object.id = value;
      else if (key !== 'className' && key !== '__type') {
        object.server[key] = TIMES.includes(key) ? new Date(value) : decode(value);
      }
    }
    object.wasThere = !!json.objectId;
    return object;
  }

  static registerSubclass(className, Class) { classes[className] = Class; }

  get attributes() {
    const all = { ...this.server };
    for (const [key, op] of Object.entries(this.pending)) {
      if (op instanceof UnsetOp) delete all[key];
      else all[key] = op instanceof IncrementOp ? (all[key] || 0) + op.amount : op.value;
    }
    return all;
  }

  get(key) { return this.attributes[key]; }

  set(key, value, options = {}) {
    if (!options.ignoreValidation && !/^[A-Za-z][0-9A-Za-z_]*$/.test(key)) throw new ParseError(105, 'bad key');
    this.pending[key] = OPS.some((Op) => value instanceof Op) ? value : new SetOp(value);
    return this;
  }

  unset(key) { this.pending[key] = new UnsetOp(); }
  revert(key) { delete this.pending[key]; }
  increment(key, by = 1) {
    const before = this.pending[key];
    if (before instanceof SetOp) this.set(key, before.value + by);
    else this.pending[key] = new IncrementOp((before ? before.amount : 0) + by);
  }

  dirty(key) { return key ? key in this.pending : Object.keys(this.pending).length > 0 || !this.id; }
  dirtyKeys() { return Object.keys(this.pending); }
  existed() { return this.wasThere; }
  _setExisted(existed) { this.wasThere = existed; }
  toPointer() { return { __type: 'Pointer', className: this.className, objectId: this.id }; }
  _toFullJSON() { return { ...this.toJSON(), __type: 'Object', className: this.className }; }
  toJSON() {
    const json = encode(this.attributes);
    for (const key of TIMES) if (json[key]) json[key] = this.get(key).toISOString();
    for (const [key, op] of Object.entries(this.pending)) json[key] = op.toJSON();
    return { ...json, objectId: this.id };
  }

  _getSaveJSON() { return Object.fromEntries(Object.entries(this.pending).map(([key, op]) => [key, op.toJSON()])); }

  save(options = {}) {
    const path = `classes/${this.className}${this.id ? `/${this.id}` : ''}`;
    const rights = { ...options, returnStatus: !LEGACY };
    const sent = controller.request(this.id ? 'PUT' : 'POST', path, this._getSaveJSON(), rights);
    return sent.then((body, status) => {
      this.answered = LEGACY ? status : body._status;
      this.id = body.objectId || this.id;
      Object.assign(this.server, this.attributes);
      this.pending = {};
      return this;
    });
  }

  static saveAll(list, options) {
    const prefix = new URL(config.SERVER_URL).pathname.replace(/\/?$/, '/');
    const requests = list.map((one) => {
      return { method: 'POST', path: `${prefix}classes/${one.className}`, body: one._getSaveJSON() };
    });
    return controller.request('POST', 'batch', { requests }, options);
  }
}

class ParseUser extends ParseObject {
  constructor() { super('_User'); }
  getSessionToken() { return this.get('sessionToken'); }
}
ParseObject.registerSubclass('_User', ParseUser);

class ParseQuery {
  constructor(className) { Object.assign(this, { className, _where: {}, _limit: -1 }); }
  static fromJSON(className, json) { return new ParseQuery(className).withJSON(json); }
  equalTo(key, value) { this._where[key] = encode(value, true); return this; }
  toJSON() { return { where: this._where, ...(this._limit >= 0 ? { limit: this._limit } : {}) }; }
  find(options) {
    return controller.request('GET', `classes/${this.className}`, this.toJSON(), options)
      .then(({ results }) => results.map((json) => ParseObject.fromJSON({ ...json, className: this.className })));
  }
}
if (!LEGACY) {
  ParseQuery.prototype.withJSON = function (json) {
    if (json.where) this._where = json.where;
    if (json.limit !== undefined) this._limit = json.limit;
    return this;
  };
}

class ParseFile {
  constructor(name, data, type) {
    this._name = name;
    if (data) this._source = { format: 'base64', base64: data.base64, type };
  }

  static fromJSON({ name, url }) { return Object.assign(new ParseFile(name), { _url: url }); }
  name() { return this._name; }
  url() { return this._url; }
  toJSON() { return { __type: 'File', name: this._name, url: this._url }; }
  destroy({ useMasterKey } = {}) {
    const headers = { 'X-Parse-Application-ID': config.APPLICATION_ID };
    if (useMasterKey) headers['X-Parse-Master-Key'] = config.MASTER_KEY;
    return controller.ajax('DELETE', `${config.SERVER_URL}/files/${this._name}`, '', headers);
  }
}

class ParseConfig {
  constructor() { this.attributes = {}; }
  get(name) { return this.attributes[name]; }
}

/** Promises of versions before 2: callbacks run synchronously and may throw. */
class ParsePromise {
  constructor() { this.callbacks = []; }
  resolve(...values) { this.settled = values; this.callbacks.splice(0).forEach((callback) => callback(values)); }
  reject(error) { this.failed = error; this.failures && this.failures(error); }
  then(work, failed) {
    const next = new ParsePromise();
    const run = (values) => {
      const result = work(...values);
      const isPromise = result && typeof result.then === 'function';
      if (isPromise) result.then((value) => next.resolve(value), (error) => next.reject(error));
      else next.resolve(result);
    };
    this.failures = failed ? (error) => next.resolve(failed(error)) : (error) => next.reject(error);
    if (this.settled) run(this.settled);
    else if (this.failed) this.failures(this.failed);
    else this.callbacks.push(run);
    return next;
  }
}

const Parse = {
  CoreManager,
  Error: ParseError,
  Object: ParseObject,
  User: ParseUser,
  Query: ParseQuery,
  File: ParseFile,
  Config: ParseConfig,
  Op: { Set: SetOp, Unset: UnsetOp, Increment: IncrementOp },
  Cloud: {
    run: (name, data, options) => controller.request('POST', `functions/${name}`, encode(data), options)
      .then(({ result }) => decode(result)),
    startJob: (name, data) => controller.request('POST', `jobs/${name}`, encode(data), { useMasterKey: true }),
  },
  initialize(applicationId, javaScriptKey, masterKey) {
    config.APPLICATION_ID = applicationId;
    config.MASTER_KEY = masterKey;
  },
  get serverURL() { return config.SERVER_URL; },
  set serverURL(value) { config.SERVER_URL = value; },
  get masterKey() { return config.MASTER_KEY; },
  set masterKey(value) { config.MASTER_KEY = value; },
  _encode: (value) => encode(value),
  _decode: (_, value) => decode(value),
  isDouble: true,
};
if (LEGACY) Parse.Promise = ParsePromise;
Parse.Parse = Parse;
module.exports = Parse;
