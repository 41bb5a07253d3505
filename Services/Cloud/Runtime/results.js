'use strict';
// What a trigger's outcome tells the host.
const { ParseError } = require('./parse/error');
const { PSEUDO_CLASSES } = require('./registry');
const { sdk } = require('./sdk/current');

const isObject = (value) => value instanceof sdk().Parse.Object;
const isQuery = (value) => value instanceof sdk().Parse.Query;

/** An object of a read's answer; its class stands in it only when the query was for another. */
function readJSON(object, className) {
  if (!isObject(object)) {
    throw new ParseError(ParseError.SCRIPT_FAILED, 'A find trigger must return an array of objects.');
  }
  const json = sdk().values(object);
  return object.className === className ? json : { ...json, className: object.className };
}

/** The write as the code leaves it: `{ object }` that it returned, or the request's own object. */
function ofBeforeSave(returned, { object }) {
  const own = { ...object._getSaveJSON(), ...(object.id ? { objectId: object.id } : {}) };
  if (!returned || isObject(returned) || !returned.object) return { object: own };
  if (returned.object === object) return { object: own };
  if (isObject(returned.object)) return { object: returned.object._getSaveJSON() };
  return { object: sdk().encode(returned.object) };
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

/** The file to store: another one with its content, or the request's own with other metadata and tags. */
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

/** The result of a trigger that succeeded. */
function ofTrigger({ trigger, className }, returned, request) {
  const context = Object.keys(request.context).length ? { context: sdk().encode(request.context) } : {};
  if (className === PSEUDO_CLASSES.config) return trigger === 'beforeSave' ? ofConfig(returned) : {};
  switch (trigger) {
    case 'beforeSave': return { ...ofBeforeSave(returned, request), context: context.context || {} };
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
