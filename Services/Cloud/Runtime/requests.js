'use strict';
// The request that a handler gets, made of a frame of the host.
const { logger } = require('./log');
const { send } = require('./host');
const { alike } = require('./parse/codec');
const { PSEUDO_CLASSES } = require('./registry');
const { sdk } = require('./sdk/current');

/** The longest message of a job, in characters; the host keeps no more of it. */
const MESSAGE_MAX = 8192;
/** Members of an object's JSON that no code writes. */
const FIXED = new Set(['objectId', 'createdAt', 'updatedAt', 'className', '__type']);

/** What every request has. */
function common({ caller }) {
  const { master, user, installationId, ip, headers, context } = caller;
  return {
    master: !!master,
    isReadOnly: false,
    user: user ? sdk().object({ ...user, className: '_User' }) : undefined,
    installationId: installationId || undefined,
    ip,
    headers: headers || {},
    context: { ...context },
    log: logger,
  };
}

function ofFunction(run) {
  const { name, params } = run.frame;
  return { ...common(run), functionName: name, params: decodeParams(params || {}) };
}

function ofJob(run) {
  const { id, name, params, jobId } = run.frame;
  const message = (text) => send({ t: 'progress', id, message: String(text).slice(0, MESSAGE_MAX) });
  return { ...common(run), jobName: name, jobId, params: decodeParams(params || {}), message };
}

/**
 * Parameters of a call. Code of Parse Server's time reads `objectId` of pointers and `iso` of dates, which were plain
 * JSON for it; they are there, unseen by loops.
 */
function decodeParams(json) {
  const value = sdk().decode(json);
  addPlainMembers(json, value);
  return value;
}

function addPlainMembers(json, value) {
  if (json === null || typeof json !== 'object' || value === null || typeof value !== 'object') return;
  const add = (name) => Object.defineProperty(value, name, { value: json[name], writable: true, configurable: true });
  if (value instanceof sdk().Parse.Object) {
    add('objectId');
    add('__type');
  } else if (value instanceof Date) {
    add('iso');
    add('__type');
  } else if (!json.__type) {
    for (const key of Object.keys(json)) addPlainMembers(json[key], value[key]);
  }
}

function objectOf(json, className) {
  return json ? sdk().object({ ...json, className: json.className || className }) : undefined;
}

/** The object of a beforeSave: the stored one with the changes of the write as operations. */
function changedObject({ object: json = {}, original, className, dirtyKeys }) {
  const object = sdk().object({ ...original, className });
  if (json.objectId) object.id = json.objectId;
  const changes = {};
  for (const [key, value] of Object.entries(json)) {
    if (FIXED.has(key) || (dirtyKeys ? !dirtyKeys.includes(key) : isUnchanged(original, key, value))) continue;
    changes[key] = sdk().decode(value);
  }
  for (const key of dirtyKeys || []) if (!(key in json) && !FIXED.has(key)) changes[key] = sdk().removal();
  sdk().change(object, changes);
  return object;
}

/** Without the list of changed keys, what has another value than the stored object is changed. */
function isUnchanged(original, key, value) {
  return !!original && Object.prototype.hasOwnProperty.call(original, key) && alike(original[key], value);
}

/** The request of a trigger; which members it has depends on the trigger, as in Parse Server. */
function ofTrigger(run) {
  const { frame } = run;
  const { trigger, className } = frame;
  const request = { ...common(run), triggerName: trigger };
  for (const key of ['event', 'clients', 'subscriptions', 'sessionToken', 'useMasterKey', 'sendEvent']) {
    if (frame[key] !== undefined) request[key] = frame[key];
  }
  if (className === PSEUDO_CLASSES.file) return Object.assign(request, ofFile(frame));
  if (className === PSEUDO_CLASSES.config) return Object.assign(request, ofConfig(frame));
  if (frame.query || trigger === 'beforeFind' || trigger === 'afterFind') {
    request.query = sdk().query(className, JSON.parse(JSON.stringify(frame.query || {})));
  }
  if (trigger === 'beforeFind' || trigger === 'afterFind') {
    request.isGet = !!frame.isGet;
    request.count = !!frame.count;
  }
  if (trigger === 'afterFind') request.objects = (frame.objects || []).map((json) => objectOf(json, className));
  if (frame.object) {
    request.object = trigger === 'beforeSave' ? changedObject(frame) : objectOf(frame.object, className);
  }
  if (frame.original) request.original = objectOf(frame.original, className);
  // An afterSave of an update knows that the object was there before; one of a create, that it was not.
  if (trigger === 'afterSave' && request.object) sdk().setExisted(request.object, !!frame.original);
  return request;
}

function ofFile({ object, fileSize, contentLength }) {
  return { file: sdk().file(object), fileSize, contentLength };
}

function ofConfig({ object, original }) {
  return {
    object: sdk().config(object),
    original: original ? sdk().config(original) : undefined,
  };
}

module.exports = { ofFunction, ofJob, ofTrigger };
