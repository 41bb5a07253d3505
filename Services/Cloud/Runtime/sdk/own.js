'use strict';
// This runtime's own SDK, with the interface for runs.
const { Parse } = require('../parse');
const { decode, encode } = require('../parse/codec');
const { ParseError } = require('../parse/error');
const { lend, reclaim } = require('../parse/objects/lent');

module.exports = {
  Parse,
  decode,
  encode,
  /** Decodes a value or an operation of a write. */
  decodeChange: decode,
  /** An object without unsaved changes, from JSON with its class. */
  object: (json) => Parse.Object.fromJSON(json),
  /** Whether operations on members of a field (`a.b`) are kept as such. */
  changesMembers: true,
  encodeAsPointers: (value) => encode(value, { pointers: true }),
  /** Sets decoded values and operations, without a subclass's validation. */
  change: (object, changes) => object._setAll(changes, { ignoreValidation: true }),
  /** Lets code read a field while a trigger runs; the field is in no JSON, and in no property that a log shows. */
  lend,
  reclaim,
  removal: () => new Parse.Op.Unset(),
  setExisted(object, existed) {
    object._state.existed = existed;
  },
  /** Every field with its current value, including changed ones. */
  values: (object) => object._valuesJSON(),
  query: (className, json) => Parse.Query.fromJSON(className, json),
  /** The file of a trigger; an upload is not stored yet and has no URL. */
  file: (json) => Object.assign(Parse.File.fromJSON({ ...json, __type: 'File' }), { _isNamedByServer: false }),
  /** The content from which a file was created: `{ base64, type }`; null for a stored file. */
  contentOf: (file) => file._content,
  config: (json) => Parse.Config._fromJSON(json || {}),
  configJSON: (config) => ({
    params: encode(config.attributes, { pointers: true }), masterKeyOnly: config._masterKeyOnly,
  }),
  isError: (value) => value instanceof ParseError,
};
