'use strict';
// This runtime's own SDK, as runs see it.
const { Parse } = require('../parse');
const { decode, encode } = require('../parse/codec');
const { ParseError } = require('../parse/error');

module.exports = {
  Parse,
  decode,
  encode,
  /** An object with nothing to save, of JSON with its class. */
  object: (json) => Parse.Object.fromJSON(json),
  /** Sets decoded values and operations, whatever a subclass thinks of them. */
  change: (object, changes) => object._setAll(changes, { ignoreValidation: true }),
  removal: () => new Parse.Op.Unset(),
  setExisted(object, existed) {
    object._state.existed = existed;
  },
  /** Every field as it is read, those that were changed included. */
  values: (object) => object._valuesJSON(),
  query: (className, json) => Parse.Query.fromJSON(className, json),
  file: (json) => Parse.File.fromJSON({ ...json, __type: 'File' }),
  /** The content that a file was made of: `{ base64, type }`; null for one that is stored. */
  contentOf: (file) => file._content,
  config: (json) => Parse.Config._fromJSON(json || {}),
  configJSON: (config) => ({
    params: encode(config.attributes, { pointers: true }), masterKeyOnly: config._masterKeyOnly,
  }),
  isError: (value) => value instanceof ParseError,
};
