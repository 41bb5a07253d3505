'use strict';
// Converts a trigger's outcome to the form for the host.
const { ParseError } = require('./parse/error');
const { PSEUDO_CLASSES } = require('./registry');
const { sdk } = require('./sdk/current');

const isObject = (value) => value instanceof sdk().Parse.Object;
const isQuery = (value) => value instanceof sdk().Parse.Query;

/** An object of a read's answer; its JSON includes the class only when it differs from the query's class. */
function readJSON(object, className) {
  if (!isObject(object)) {
    throw new ParseError(ParseError.SCRIPT_FAILED, 'A find trigger must return an array of objects.');
  }
  const json = sdk().values(object);
  return object.className === className ? json : { ...json, className: object.className };
}

/** The write after the code has changed it: a returned `{ object }`, or the request's own object. */
function ofBeforeSave(returned, { object }) {
  const own = { ...object._getSaveJSON(), ...(object.id ? { objectId: object.id } : {}) };
  if (!returned || isObject(returned) || !returned.object) return { object: own };
  if (returned.object === object) return { object: own };
  if (isObject(returned.object)) return { object: returned.object._getSaveJSON() };
  return { object: sdk().encode(returned.object) };
}

/**
 * The client's answer after an afterSave. A plain object that the code returned replaces it; otherwise unsaved changes
 * of the object are added. Objects inside become pointers: the code may have fetched them with rights that the client
 * lacks.
 */
function ofAfterSave(returned, { object }) {
  if (isPlain(returned) && Object.keys(returned).length) return { answer: sdk().encode(returned) };
  const changes = {};
  for (const field of new Set(object.dirtyKeys().map((path) => path.split('.', 1)[0]))) {
    const value = object.get(field);
    changes[field] = value === undefined ? { __op: 'Delete' } : sdk().encodeAsPointers(value);
  }
  return { changes };
}

function isPlain(value) {
  return value !== null && typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype;
}

function ofBeforeFind(returned, { query }, className) {
  const list = isObject(returned) ? [returned] : returned;
  if (Array.isArray(list) && list.every(isObject)) {
    return { objects: list.map((object) => readJSON(object, className)) };
  }
  return { query: (isQuery(returned) ? returned : query).toJSON() };
}

function ofAfterFind(returned, { objects }, className) {
  const list = returned === undefined || returned === null ? objects : returned;
  if (!Array.isArray(list)) {
    throw new ParseError(ParseError.SCRIPT_FAILED, 'A find trigger must return an array of objects.');
  }
  return { objects: list.map((object) => readJSON(object, className)) };
}

/** The file to store: a returned file with its content, or the request's own with changed metadata and tags. */
function ofFile(returned, { file }) {
  const chosen = returned instanceof sdk().Parse.File ? returned : file;
  const json = { name: chosen.name(), url: chosen.url(), metadata: partOf(chosen, 'metadata'), tags: partOf(chosen, 'tags') };
  const content = chosen === file ? null : sdk().contentOf(chosen);
  if (content) Object.assign(json, { base64: content.base64, contentType: content.type });
  return { file: json };
}

/** Metadata or tags, which files of older SDKs do not have. */
function partOf(file, name) {
  return typeof file[name] === 'function' ? file[name]() : {};
}

function ofConfig(returned) {
  return returned instanceof sdk().Parse.Config ? sdk().configJSON(returned) : {};
}

function ofEvent(returned, { object, original, sendEvent }) {
  return {
    object: object ? sdk().values(object) : undefined,
    original: original ? sdk().values(original) : undefined,
    sendEvent: sendEvent !== false,
  };
}

/** The context for the next trigger, without secrets that only this trigger's code may read. */
function contextOf(run, { context }) {
  if (!Object.keys(context).length) return {};
  const encoded = sdk().encode(context);
  if (!run.secrets.length) return { context: encoded };
  const redacted = (key, value) => (typeof value === 'string' ? run.redacted(value) : value);
  return { context: JSON.parse(JSON.stringify(encoded, redacted)) };
}

/** The result of a trigger that succeeded. */
function ofTrigger(run, returned, request) {
  const { trigger, className, awaited } = run.frame;
  const context = contextOf(run, request);
  if (className === PSEUDO_CLASSES.config) return trigger === 'beforeSave' ? ofConfig(returned) : {};
  switch (trigger) {
    case 'beforeSave': return { ...ofBeforeSave(returned, request), context: context.context || {} };
    case 'afterSave': return awaited ? ofAfterSave(returned, request) : {};
    case 'beforeFind': return { ...ofBeforeFind(returned, request, className), ...context };
    case 'afterFind': return ofAfterFind(returned, request, className);
    case 'beforeSubscribe': return { query: (isQuery(returned) ? returned : request.query).toJSON() };
    case 'beforeSaveFile': return ofFile(returned, request);
    case 'afterEvent': return ofEvent(returned, request);
    case 'beforeDelete': return context;
    default: return {};
  }
}

module.exports = { ofTrigger };
