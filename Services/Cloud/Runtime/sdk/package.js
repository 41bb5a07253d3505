'use strict';
// Uses the package `parse` of the code's folder as the SDK of its runs: its classes, with this runtime's Parse.Cloud
// and transport. Besides the public interface it uses CoreManager, _encode, _decode, fromJSON and _getSaveJSON.
const fs = require('node:fs');
const Module = require('node:module');
const path = require('node:path');
const registry = require('../registry');
const { settings } = require('../settings');
const { Cloud } = require('../parse/cloud');
const { canonical } = require('../parse/codec');
const { fixed } = require('../parse/fixed');
const { bridge } = require('./bridge');

/** The functions of Parse.Cloud that the package implements itself, over this runtime's transport. */
const CLOUD_OF_PACKAGE = ['run', 'startJob', 'getJobsData', 'getJobStatus'];

/** The package's Parse, ready for use; null when the folder has none. */
function load(folder) {
  const root = path.join(folder, 'node_modules', 'parse');
  if (!fs.existsSync(path.join(root, 'package.json'))) return null;
  const exported = Module.createRequire(path.join(folder, 'main.js'))('parse/node');
  const Parse = [exported, exported.default, exported.Parse].find((one) => one && one.CoreManager);
  if (!Parse) throw new Error('The package parse in node_modules is older than 1.6: it cannot be used here.');
  prepare(Parse);
  return adapted(Parse);
}

function prepare(Parse) {
  const { CoreManager } = Parse;
  Parse.initialize(settings.applicationId);
  CoreManager.set('SERVER_URL', settings.serverURL);
  CoreManager.setRESTController(bridge(Parse));
  // A process serves many callers: changes of an object by one must not appear in another's.
  if (Parse.Object.disableSingleInstance) Parse.Object.disableSingleInstance();
  const own = Object.fromEntries(CLOUD_OF_PACKAGE.map((name) => [name, Parse.Cloud[name] || Cloud[name]]));
  define(Parse, 'Cloud', { ...Cloud, ...own });
  define(Parse, 'initialize', () => {});
  fixed(Parse);
  registry.mark(Parse.File, registry.PSEUDO_CLASSES.file);
  registry.mark(Parse.Config, registry.PSEUDO_CLASSES.config);
}

function define(Parse, name, value) {
  Object.defineProperty(Parse, name, { value, writable: true, enumerable: true, configurable: true });
}

function adapted(Parse) {
  const decode = (json) => Parse._decode(undefined, json);
  const encode = (value) => Parse._encode(value);
  return {
    Parse,
    decode,
    encode,
    changesMembers: false,
    encodeAsPointers: (value) => Parse._encode(value, false, true),
    decodeChange: (json, stored) => decodeChange(Parse, json, stored),
    object: (json) => Parse.Object.fromJSON(json),
    change(object, changes) {
      for (const [key, value] of Object.entries(changes)) object.set(key, value, { ignoreValidation: true });
    },
    /** Only this runtime's own SDK can keep a value out of JSON and logs. */
    lend() {},
    reclaim() {},
    removal: () => new Parse.Op.Unset(),
    setExisted: (object, existed) => object._setExisted(existed),
    values(object) {
      const json = {};
      for (const [key, value] of Object.entries(object.attributes)) {
        const isTime = (key === 'createdAt' || key === 'updatedAt') && value instanceof Date;
        json[key] = isTime ? value.toISOString() : encode(value);
      }
      return object.id ? { ...json, objectId: object.id } : json;
    },
    query: (className, json) => queryOf(Parse, className, json),
    file: (json) => fileOf(Parse, json),
    contentOf: ({ _source: source }) => (source && source.format === 'base64' ? source : null),
    config({ params = {}, masterKeyOnly = {} } = {}) {
      const config = new Parse.Config();
      for (const [key, value] of Object.entries(params)) config.attributes[key] = decode(value);
      Object.defineProperty(config, '_masterKeyOnly', { value: masterKeyOnly, writable: true });
      return config;
    },
    configJSON: (config) => ({ params: encode(config.attributes), masterKeyOnly: config._masterKeyOnly || {} }),
    isError: (value) => value instanceof Parse.Error,
  };
}

/** Maximum elements of an operation that the package's own code handles; its time grows quadratically. */
const OPERATOR_MAX = 1000;

/**
 * Decodes a value or an operation of a write. For a longer AddUnique or Remove, code sees the resulting value. A longer
 * relation change sets its ids without the package's constructor, which compares every pair.
 */
function decodeChange(Parse, json, stored) {
  const operations = json && json.__op === 'Batch' ? json.ops || [] : [json];
  const length = operations.reduce((sum, one) => sum + (one && Array.isArray(one.objects) ? one.objects.length : 0), 0);
  if (length <= OPERATOR_MAX) return Parse._decode(undefined, json);
  if (json.__op === 'AddUnique') {
    const known = new Set((stored || []).map(canonical));
    const added = json.objects.filter((element) => known.size < known.add(canonical(element)).size);
    return Parse._decode(undefined, [...stored || [], ...added]);
  }
  if (json.__op === 'Remove') {
    const gone = new Set(json.objects.map(canonical));
    return Parse._decode(undefined, (stored || []).filter((element) => !gone.has(canonical(element))));
  }
  return json.__op !== 'Add' && Parse.Op.Relation ? relationOf(Parse, operations) : Parse._decode(undefined, json);
}

function relationOf(Parse, operations) {
  const isAdded = new Map();
  for (const { __op: name, objects = [] } of operations) {
    for (const { objectId } of objects) isAdded.set(objectId, name === 'AddRelation');
  }
  const ids = (wanted) => [...isAdded.keys()].filter((id) => isAdded.get(id) === wanted);
  const { className } = operations.flatMap(({ objects = [] }) => objects.slice(0, 1))[0];
  return Object.assign(new Parse.Op.Relation([], []), {
    _targetClassName: className, relationsToAdd: ids(true), relationsToRemove: ids(false),
  });
}

/** Versions before 2.0 have no fromJSON. */
function queryOf(Parse, className, json) {
  const query = new Parse.Query(className);
  if (query.withJSON) return query.withJSON(json);
  if (json.where) query._where = json.where;
  const list = (value) => (Array.isArray(value) ? value : String(value).split(','));
  if (json.include) query._include = list(json.include);
  if (json.keys) query._select = list(json.keys);
  if (json.order) query._order = list(json.order);
  if (json.limit !== undefined && json.limit !== null) query._limit = Number(json.limit);
  if (json.skip) query._skip = Number(json.skip);
  return query;
}

/** A file with its content, or a stored one. Older versions have neither metadata nor tags. */
function fileOf(Parse, { name, url, base64, contentType, metadata, tags }) {
  const file = base64 === undefined
    ? Parse.File.fromJSON({ __type: 'File', name, url })
    : new Parse.File(name, { base64 }, contentType, metadata, tags);
  if (url) file._url = url;
  if (metadata && file.setMetadata) file.setMetadata(metadata);
  if (tags && file.setTags) file.setTags(tags);
  return file;
}

module.exports = { load };
