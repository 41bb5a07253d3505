'use strict';
// What a trigger's outcome tells the host.
const { encode } = require('./parse/codec');
const { ParseError } = require('./parse/error');
const { File } = require('./parse/file');
const { ParseObject } = require('./parse/object');
const { Query } = require('./parse/query');
const { Config } = require('./parse/services');
const { PSEUDO_CLASSES } = require('./registry');

/** An object of a read's answer; its class stands in it only when the query was for another. */
function readJSON(object, className) {
  if (!(object instanceof ParseObject)) {
    throw new ParseError(ParseError.SCRIPT_FAILED, 'A find trigger must return an array of objects.');
  }
  const json = object._valuesJSON();
  return object.className === className ? json : { ...json, className: object.className };
}

/** The write as the code leaves it: `{ object }` that it returned, or the request's own object. */
function ofBeforeSave(returned, { object }) {
  const own = { ...object._getSaveJSON(), ...(object.id ? { objectId: object.id } : {}) };
  if (!returned || returned instanceof ParseObject || !returned.object) return { object: own };
  if (returned.object === object) return { object: own };
  if (returned.object instanceof ParseObject) return { object: returned.object._getSaveJSON() };
  return { object: encode(returned.object) };
}

function ofBeforeFind(returned, { query }, className) {
  const list = returned instanceof ParseObject ? [returned] : returned;
  if (Array.isArray(list) && list.every((object) => object instanceof ParseObject)) {
    return { objects: list.map((object) => readJSON(object, className)) };
  }
  return { query: (returned instanceof Query ? returned : query).toJSON() };
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
  const chosen = returned instanceof File ? returned : file;
  const json = { name: chosen.name(), url: chosen.url(), metadata: chosen.metadata(), tags: chosen.tags() };
  if (chosen !== file && chosen._content) {
    Object.assign(json, { base64: chosen._content.base64, contentType: chosen._content.type });
  }
  return { file: json };
}

function ofConfig(returned) {
  if (!(returned instanceof Config)) return {};
  return { params: encode(returned.attributes, { pointers: true }), masterKeyOnly: returned._masterKeyOnly };
}

function ofEvent(returned, { object, original, sendEvent }) {
  return {
    object: object ? object._valuesJSON() : undefined,
    original: original ? original._valuesJSON() : undefined,
    sendEvent: sendEvent !== false,
  };
}

/** The result of a trigger that succeeded. */
function ofTrigger({ trigger, className }, returned, request) {
  const context = Object.keys(request.context).length ? { context: encode(request.context) } : {};
  if (className === PSEUDO_CLASSES.config) return trigger === 'beforeSave' ? ofConfig(returned) : {};
  switch (trigger) {
    case 'beforeSave': return { ...ofBeforeSave(returned, request), context: context.context || {} };
    case 'beforeFind': return { ...ofBeforeFind(returned, request, className), ...context };
    case 'afterFind': return ofAfterFind(returned, request, className);
    case 'beforeSubscribe': return { query: (returned instanceof Query ? returned : request.query).toJSON() };
    case 'beforeSaveFile': return ofFile(returned, request);
    case 'afterEvent': return ofEvent(returned, request);
    case 'beforeDelete': return context;
    default: return {};
  }
}

module.exports = { ofTrigger };
