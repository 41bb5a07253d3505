'use strict';
const types = require('../types');
const { ParseError } = require('../error');
const { promised } = require('../promise');
const { answerOf } = require('../rest');
const { httpRequest } = require('../../http/http-request');

const DATA_URI = /^data:([a-zA-Z]+\/[-a-zA-Z0-9+.]+)(;charset=[a-zA-Z0-9\-/]*)?;base64,/;

/** A file's content: base64 and a type, a URL to read it from, or nothing. */
function contentOf(data, type) {
  if (data === undefined || data === null) return null;
  if (Array.isArray(data) || ArrayBuffer.isView(data)) return { base64: Buffer.from(data).toString('base64'), type };
  if (data instanceof ArrayBuffer) return { base64: Buffer.from(data).toString('base64'), type };
  if (typeof data.base64 === 'string') {
    const found = DATA_URI.exec(data.base64.slice(0, 200));
    return { base64: found ? data.base64.slice(found[0].length) : data.base64, type: type || (found && found[1]) };
  }
  if (typeof data.uri === 'string') return { uri: data.uri, type };
  throw new TypeError('A file needs bytes, { base64 } or { uri }.');
}

class File {
  /** @param data an array of bytes, a Buffer, `{ base64 }` or `{ uri }` */
  constructor(name, data, type, metadata, tags) {
    this._name = name;
    this._url = undefined;
    this._metadata = metadata || {};
    this._tags = tags || {};
    Object.defineProperty(this, '_content', { value: contentOf(data, type), writable: true });
    Object.defineProperty(this, '_saving', { value: null, writable: true });
    Object.defineProperty(this, '_isNamedByServer', { value: false, writable: true });
  }

  static fromJSON({ __type, name, url, base64, contentType, metadata, tags }) {
    if (__type !== undefined && __type !== 'File') throw new TypeError('JSON object does not represent a ParseFile');
    const file = new File(name, base64 === undefined ? undefined : { base64 }, contentType, metadata, tags);
    file._url = url;
    file._isNamedByServer = base64 === undefined;
    return file;
  }

  /** Whether an object can refer to the file. A file received as a name only is stored: clients may omit the URL. */
  _isStored() {
    return !!this._url || this._isNamedByServer;
  }

  name() {
    return this._name;
  }

  url({ forceSecure } = {}) {
    return forceSecure && this._url ? this._url.replace(/^http:\/\//, 'https://') : this._url;
  }

  metadata() {
    return this._metadata;
  }

  tags() {
    return this._tags;
  }

  setMetadata(metadata) {
    if (metadata && typeof metadata === 'object') this._metadata = { ...metadata };
  }

  addMetadata(key, value) {
    if (typeof key === 'string') this._metadata[key] = value;
  }

  setTags(tags) {
    if (tags && typeof tags === 'object') this._tags = { ...tags };
  }

  addTag(key, value) {
    if (typeof key === 'string') this._tags[key] = value;
  }

  /** The content as base64, downloaded from its URL if necessary. */
  async getData() {
    const { base64, uri } = this._content || {};
    if (base64 !== undefined) return base64;
    const url = uri || this._url;
    if (!url) throw new ParseError(ParseError.UNSAVED_FILE_ERROR, 'Cannot retrieve data for unsaved ParseFile.');
    const { buffer } = await httpRequest({ url, followRedirects: true });
    this._content = { ...this._content, base64: buffer.toString('base64') };
    return this._content.base64;
  }

  save(options = {}) {
    this._saving = this._saving || this._send(options);
    return promised(this._saving, options, this);
  }

  async _send(options) {
    try {
      if (!this._content) throw new ParseError(ParseError.FILE_SAVE_ERROR, 'A file without content cannot be saved.');
      const body = {
        base64: await this.getData(),
        fileData: { metadata: { ...this._metadata }, tags: { ...this._tags } },
      };
      if (this._content.type) body._ContentType = this._content.type;
      const answer = await answerOf('POST', `/files/${encodeURIComponent(this._name)}`, body, options);
      this._name = answer.name;
      this._url = answer.url;
      return this;
    } catch (error) {
      this._saving = null;
      throw error;
    }
  }

  destroy(options = {}) {
    return promised(async () => {
      if (!this._name) throw new ParseError(ParseError.FILE_DELETE_UNNAMED_ERROR, 'Cannot delete an unnamed file.');
      const rights = { ...options, useMasterKey: true };
      await answerOf('DELETE', `/files/${encodeURIComponent(this._name)}`, undefined, rights);
      this._content = null;
      this._saving = null;
      return this;
    }, options, this);
  }

  equals(other) {
    if (this === other) return true;
    if (!(other instanceof File) || other.name() !== this._name) return false;
    return this._isStored() && other._isStored() && other.url() === this._url;
  }

  toJSON() {
    return { __type: 'File', name: this._name, ...(this._url === undefined ? {} : { url: this._url }) };
  }
}

types.File = File;
module.exports = { File };
