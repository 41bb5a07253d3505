'use strict';
// Saving, fetching and deleting objects, one and many. Adds its methods to Parse.Object.
const types = require('../types');
const { ParseError } = require('../error');
const { ParseObject } = require('./object');
const { Operations } = require('./object-state');
const { RelationOp } = require('./ops');
const { promised, withoutCallbacks } = require('../promise');
const { request } = require('../rest');
const { mountPath } = require('../../settings');

/** Objects in one batch: the SDK's number, which every server accepts. */
const BATCH_OBJECTS = 20;

/** The method and path of an object's save. */
function saveTarget(object) {
  if (object.id) return { method: 'PUT', path: `/classes/${object.className}/${object.id}` };
  return { method: 'POST', path: object.className === '_User' ? '/users' : `/classes/${object.className}` };
}

/** A save in progress: it takes the pending operations, and later changes belong to the next save. */
class Save {
  constructor(object) {
    this.object = object;
    this.state = object._state;
    this.state.keepAllInPlace();
    this.changedInPlace = this.state.changedInPlace();
    this.request = { ...saveTarget(object), body: object._getSaveJSON() };
    this.state.pending.push(new Operations());
  }

  /** Stores the saved values, and the server's changes to them. */
  finish(answer, status) {
    const { object, state } = this;
    const fields = answer && typeof answer === 'object' ? answer : {};
    const saved = state.pending.shift();
    for (const key of this.changedInPlace) state.commitValue(key, state.value(key, object));
    for (const [path, operation] of saved) {
      const key = path.split('.')[0];
      if (key in fields && !(operation instanceof RelationOp)) continue;
      state.commitValue(key, state.applied(path, operation, object));
    }
    object._finishFetch(fields);
    state.existed = status !== 201;
  }

  /** Puts operations that could not be saved back, before those made since. */
  fail() {
    const failed = this.state.pending.shift();
    const later = this.state.pending[0];
    this.state.pending[0] = failed;
    for (const [path, operation] of later) this.state.change(path, operation, this.object);
  }
}

/** Runs the saves of an object one at a time; at once when none is in progress. */
function inTurn(object, work) {
  const state = object._state;
  const turn = state.saving ? state.saving.then(work) : work();
  const ended = () => {
    if (state.saving === settled) state.saving = null;
  };
  const settled = turn.then(ended, ended);
  state.saving = settled;
  return turn;
}

function saveOne(object, options) {
  return inTurn(object, async () => {
    const save = new Save(object);
    const { method, path, body } = save.request;
    try {
      const answer = await request(method, path, body, options);
      save.finish(answer.body, answer.status);
    } catch (error) {
      save.fail();
      throw error;
    }
    return object;
  });
}

/** Every unsaved object and file that a value refers to, at any depth, but not the value itself. */
function unsavedIn(value, found = new Set(), seen = new Set(), root = value) {
  if (value === null || typeof value !== 'object' || seen.has(value)) return found;
  seen.add(value);
  if (value instanceof types.File) {
    if (!value._isStored()) found.add(value);
  } else if (value instanceof ParseObject) {
    if (value !== root && value.dirty()) found.add(value);
    for (const key of value._state.estimatedKeys()) {
      // A value that was never decoded cannot have changed.
      if (value._state.isDecoded(key)) unsavedIn(value.get(key), found, seen, root);
    }
  } else if (Array.isArray(value) || isPlain(value)) {
    for (const member of Object.values(value)) unsavedIn(member, found, seen, root);
  }
  return found;
}

function isPlain(value) {
  return Object.getPrototypeOf(value) === Object.prototype || Object.getPrototypeOf(value) === null;
}

/** Whether an object can be saved now: it refers to nothing without an id or URL. */
function isWritable(object) {
  const unsaved = unsavedIn(object);
  for (const other of unsaved) if (other instanceof types.File) return false;
  if (!unsaved.size) return true;
  return ![...object._state.latest.values()].some((operation) => holds(operation.value || operation.objects, unsaved));
}

/** Whether a value contains one of the unsaved objects without an id directly, not through another object. */
function holds(value, unsaved) {
  if (value === null || typeof value !== 'object') return false;
  if (value instanceof ParseObject) return !value.id && unsaved.has(value);
  return Object.values(value).some((member) => holds(member, unsaved));
}

/** Saves objects and files in batches; an object that refers to an unsaved one is saved after it. */
async function saveMany(list, options) {
  let left = [...new Set(list.flatMap((object) => [...unsavedIn(object), object]))];
  const files = left.filter((item) => item instanceof types.File);
  await Promise.all(files.map((file) => file.save(withoutCallbacks(options))));
  left = left.filter((item) => item instanceof ParseObject && item.dirty());
  let failure = null;
  while (left.length && !failure) {
    const batch = firstWritable(left, options.batchSize || BATCH_OBJECTS);
    if (!batch.length) throw new ParseError(ParseError.OTHER_CAUSE, 'Tried to save a batch with a cycle.');
    const taken = new Set(batch);
    left = left.filter((object) => !taken.has(object));
    failure = await saveBatch(batch, options);
  }
  if (failure) throw failure;
  return list;
}

function firstWritable(objects, count) {
  const found = [];
  for (const object of objects) {
    if (found.length === count) break;
    if (isWritable(object)) found.push(object);
  }
  return found;
}

/** Saves a batch; returns the first error, or null. */
async function saveBatch(batch, options) {
  if (batch.length === 1) return saveOne(batch[0], options).then(() => null, (error) => error);
  await Promise.all(batch.map((object) => object._state.saving));
  const saves = batch.map((object) => new Save(object));
  const requests = saves.map(({ request: { method, path, body } }) => ({ method, path: mountPath() + path, body }));
  const body = options.transaction ? { requests, transaction: true } : { requests };
  let answers;
  try {
    answers = (await request('POST', '/batch', body, options)).body;
  } catch (error) {
    saves.forEach((save) => save.fail());
    return error;
  }
  let failure = null;
  saves.forEach((save, index) => {
    const { success, error } = (Array.isArray(answers) && answers[index]) || { error: { code: 1 } };
    if (!error) {
      save.finish(success || {}, save.request.method === 'PUT' ? 200 : 201);
      return;
    }
    save.fail();
    failure = failure || new ParseError(error.code, error.error || 'The batch has no answer for an object.');
  });
  return failure;
}

async function destroyMany(list, options) {
  const saved = list.filter((object) => object.id);
  const size = options.batchSize || BATCH_OBJECTS;
  const errors = [];
  for (let start = 0; start < saved.length; start += size) {
    const batch = saved.slice(start, start + size);
    const requests = batch.map((object) => (
      { method: 'DELETE', path: `${mountPath()}/classes/${object.className}/${object.id}`, body: {} }
    ));
    const body = options.transaction ? { requests, transaction: true } : { requests };
    const { body: answers } = await request('POST', '/batch', body, options);
    batch.forEach((object, index) => {
      const error = answers[index] && answers[index].error;
      if (error) errors.push(Object.assign(new ParseError(error.code, error.error), { object }));
    });
  }
  if (errors.length) {
    throw Object.assign(new ParseError(ParseError.AGGREGATE_ERROR, 'Some objects could not be deleted.'), { errors });
  }
  return list;
}

async function fetchMany(list, force, options) {
  if (!list.length) return [];
  if (list.some((object) => object.className !== list[0].className)) {
    throw new ParseError(ParseError.INVALID_CLASS_NAME, 'All objects should be of the same class');
  }
  if (list.some((object) => !object.id)) {
    throw new ParseError(ParseError.MISSING_OBJECT_ID, 'All objects must have an ID');
  }
  const wanted = list.filter((object) => force || !object.isDataAvailable());
  if (!wanted.length) return list;
  const query = new types.Query(list[0].className);
  query.containedIn('objectId', [...new Set(wanted.map((object) => object.id))]);
  query.limit(wanted.length);
  if (options.include) query.include(options.include);
  const found = new Map((await query._answers(options)).map((json) => [json.objectId, json]));
  for (const object of wanted) {
    if (found.has(object.id)) replaceData(object, found.get(object.id));
    else if (force) throw new ParseError(ParseError.OBJECT_NOT_FOUND, 'All objects must exist on the server.');
  }
  return list;
}

/** Replaces an object's data with the result of a read. Keeps the session token, because reads do not contain it. */
function replaceData(object, json) {
  const token = object.className === '_User' ? object.get('sessionToken') : undefined;
  object.revert();
  object._state.clear();
  object._finishFetch(token && !json.sessionToken ? { ...json, sessionToken: token } : json);
  object._state.existed = true;
  return object;
}

function includeOf(options) {
  return options.include === undefined ? undefined : [].concat(options.include).flat().join(',');
}

const methods = {
  /** save(attributes, options), save(key, value, options), save(null, options) and save({ success, error }). */
  save(first, second, third) {
    const named = typeof first === 'string';
    let attributes = named ? { [first]: second } : first;
    let options = (named ? third : second) || {};
    if (!named && !second && first && (typeof first.success === 'function' || typeof first.error === 'function')) {
      const { success, error, ...others } = first;
      [attributes, options] = [others, { success, error }];
    }
    return promised(async () => {
      if (attributes && !this.set(attributes, { ...options, error: undefined })) {
        throw this.validate(attributes) || new ParseError(ParseError.OTHER_CAUSE, 'The object is not valid.');
      }
      const children = options.cascadeSave === false ? [] : [...unsavedIn(this)];
      if (children.length) await saveMany(children.filter((child) => child !== this), options);
      return saveOne(this, options);
    }, options, this);
  },

  saveEventually(options) {
    return this.save(null, options);
  },

  fetch(options = {}) {
    return promised(async () => {
      if (!this.id) throw new ParseError(ParseError.MISSING_OBJECT_ID, 'Object does not have an ID');
      const include = includeOf(options);
      const query = include ? { include } : {};
      const { body } = await request('GET', `/classes/${this.className}/${this.id}`, query, options);
      return replaceData(this, body);
    }, options, this);
  },

  fetchWithInclude(keys, options) {
    return this.fetch({ ...options, include: keys });
  },

  exists(options = {}) {
    if (!this.id) return promised(async () => false, options);
    const query = new types.Query(this.className);
    const found = query.get(this.id, withoutCallbacks(options));
    return promised(found.then(() => true, (error) => {
      if (error.code === ParseError.OBJECT_NOT_FOUND) return false;
      throw error;
    }), options);
  },

  destroy(options = {}) {
    return promised(async () => {
      if (!this.id) return undefined;
      await request('DELETE', `/classes/${this.className}/${this.id}`, {}, options);
      return this;
    }, options, this);
  },

  destroyEventually(options) {
    return this.destroy(options);
  },
};

const statics = {
  saveAll: (list, options = {}) => promised(() => saveMany([].concat(list || []), options), options),
  destroyAll: (list, options = {}) => promised(() => destroyMany([].concat(list || []), options), options),
  fetchAll: (list, options = {}) => promised(() => fetchMany(list || [], true, options), options),
  fetchAllIfNeeded: (list, options = {}) => promised(() => fetchMany(list || [], false, options), options),
  fetchAllWithInclude: (list, keys, options) => ParseObject.fetchAll(list, { ...options, include: keys }),
  fetchAllIfNeededWithInclude: (list, keys, options) => (
    ParseObject.fetchAllIfNeeded(list, { ...options, include: keys })
  ),
};

for (const [name, value] of Object.entries(methods)) {
  Object.defineProperty(ParseObject.prototype, name, { value, writable: true, configurable: true });
}
for (const [name, value] of Object.entries(statics)) {
  Object.defineProperty(ParseObject, name, { value, writable: true, configurable: true });
}
