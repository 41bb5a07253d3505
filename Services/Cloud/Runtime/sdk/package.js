'use strict';
// The package `parse` of the code's folder as the SDK of its runs: its classes, with our Parse.Cloud and our way to the
// server. What is used of it beside its public interface: CoreManager, _encode, _decode, fromJSON, _getSaveJSON.
const fs = require('node:fs');
const Module = require('node:module');
const path = require('node:path');
const registry = require('../registry');
const { settings } = require('../settings');
const { Cloud } = require('../parse/cloud');
const { fixed } = require('../parse/fixed');
const { bridge } = require('./bridge');

/** Of Parse.Cloud, what the package has itself and sends over our bridge. */
const CLOUD_OF_PACKAGE = ['run', 'startJob', 'getJobsData', 'getJobStatus'];

/** The package's Parse, ready for use; null where the folder has none of its own. */
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
  // A process serves many callers: what one of them changes in an object is not in another one's.
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
    object: (json) => Parse.Object.fromJSON(json),
    change(object, changes) {
      for (const [key, value] of Object.entries(changes)) object.set(key, value, { ignoreValidation: true });
    },
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

/** A file with its content, or one that is stored. Older versions know neither metadata nor tags. */
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
