'use strict';
// The request for a handler, created from a frame of the host.
const { logger } = require('./log');
const { send } = require('./host');
const { alike } = require('./parse/codec');
const { decodeParams } = require('./params');
const { PSEUDO_CLASSES } = require('./registry');
const { sdk } = require('./sdk/current');

/** The longest message of a job, in characters; the host truncates at this length. */
const MESSAGE_MAX = 8192;
/** Members of an object's JSON that code cannot write. */
const FIXED = new Set(['objectId', 'createdAt', 'updatedAt', 'className', '__type']);
/** Members of a trigger's frame that are passed to its request unchanged. */
const PASSED = [
  'event', 'op', 'requestId', 'clients', 'subscriptions', 'sessionToken', 'useMasterKey', 'sendEvent',
];

/** The members of every request. */
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
  const message = async (text) => send({ t: 'progress', id, message: String(text).slice(0, MESSAGE_MAX) });
  return { ...common(run), jobName: name, jobId, params: decodeParams(params || {}), message };
}

function objectOf(json, className) {
  return json ? sdk().object({ ...json, className: json.className || className }) : undefined;
}

/** The object of a beforeSave: the stored object with the changes of the write as operations. */
function changedObject({ object: json = {}, original, className, dirtyKeys, members = {} }) {
  const object = sdk().object({ ...original, className });
  if (json.objectId) object.id = json.objectId;
  const changes = {};
  const dirty = dirtyKeys && new Set(dirtyKeys);
  // An SDK without operations on members gets the resulting value of the field.
  const paths = sdk().changesMembers ? Object.keys(members).sort() : [];
  const ofMembers = new Set(paths.map((path) => path.split('.', 1)[0]));
  for (const [key, value] of Object.entries(json)) {
    if (FIXED.has(key) || (dirty ? !dirty.has(key) : isUnchanged(original, key, value))) continue;
    if (ofMembers.has(key) && !(value && value.__op)) continue;
    changes[key] = sdk().decodeChange(value, original && original[key]);
  }
  for (const key of dirtyKeys || []) {
    if (!(key in json) && !FIXED.has(key) && !ofMembers.has(key)) changes[key] = sdk().removal();
  }
  // Sorted, as the server applies them: the operation on a value comes before those on its members.
  for (const path of paths) changes[path] = sdk().decodeChange(members[path]);
  sdk().change(object, changes);
  return object;
}

/** Without a list of changed keys, a field counts as changed when its value differs from the stored object. */
function isUnchanged(original, key, value) {
  return !!original && Object.prototype.hasOwnProperty.call(original, key) && alike(original[key], value);
}

/** The request of a trigger; its members depend on the trigger, as in Parse Server. */
function ofTrigger(run) {
  const { frame } = run;
  const { trigger, className } = frame;
  const request = { ...common(run), triggerName: trigger };
  for (const key of PASSED) if (frame[key] !== undefined) request[key] = frame[key];
  if (trigger === 'beforeConnect') request.client = clientOf(request);
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
    if (trigger === 'beforeSave' && frame.password !== undefined) {
      run.hide(frame.password);
      sdk().lend(request.object, 'password', frame.password);
    }
  }
  if (frame.original) request.original = objectOf(frame.original, className);
  // For an afterSave, existed() is true after an update and false after a create.
  if (trigger === 'afterSave' && request.object) sdk().setExisted(request.object, !!frame.original);
  return request;
}

/** A file's trigger has the name of the corresponding object trigger, as in Parse Server. */
function ofFile({ trigger, object, fileSize = null, contentLength }) {
  return { triggerName: trigger.replace(/File$/, ''), file: sdk().file(object), fileSize, contentLength };
}

/** The client that opens a connection for live queries. */
function clientOf({ installationId, sessionToken, useMasterKey }) {
  return { installationId, sessionToken, hasMasterKey: !!useMasterKey };
}

function ofConfig({ object, original }) {
  return {
    object: sdk().config(object),
    original: original ? sdk().config(original) : undefined,
  };
}

module.exports = { ofFunction, ofJob, ofTrigger };
