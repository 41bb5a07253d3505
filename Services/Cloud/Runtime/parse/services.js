'use strict';
// Server features other than objects: Config, pushes, analytics.
const { decode, encode } = require('./codec');
const { promised } = require('./promise');
const { answerOf, request } = require('./rest');
const { headerOf } = require('./headers');
const types = require('./types');
const underscore = require('./underscore');

/** The application's settings, as last read. */
class Config {
  constructor(attributes = {}, masterKeyOnly = {}) {
    this.attributes = attributes;
    this._masterKeyOnly = masterKeyOnly;
  }

  get(name) {
    return this.attributes[name];
  }

  escape(name) {
    const value = this.get(name);
    return value === undefined || value === null ? '' : underscore.escape(String(value));
  }

  static _fromJSON({ params = {}, masterKeyOnly = {} }) {
    const attributes = {};
    for (const [name, value] of Object.entries(params)) attributes[name] = decode(value);
    return new Config(attributes, masterKeyOnly);
  }

  /** The last read settings; empty before the first read. */
  static current() {
    return Config._last || new Config();
  }

  static get(options = {}) {
    return promised(async () => {
      Config._last = Config._fromJSON(await answerOf('GET', '/config', {}, options));
      return Config._last;
    }, options);
  }

  static save(attributes, masterKeyOnly, options = {}) {
    return promised(async () => {
      const body = { params: encode(attributes, { pointers: true }) };
      if (masterKeyOnly) body.masterKeyOnly = masterKeyOnly;
      await request('PUT', '/config', body, { ...options, useMasterKey: true });
      return Config.get({ useMasterKey: true });
    }, options);
  }
}

const Push = {
  /** Sends a push; resolves with the id of its _PushStatus if the server returns it. */
  send(data, options = {}) {
    return promised(async () => {
      if (data.expiration_time && data.expiration_interval) {
        throw new Error('expiration_time and expiration_interval cannot both be set.');
      }
      const body = { ...data };
      if (body.where instanceof types.Query) body.where = body.where.toJSON().where;
      for (const key of ['push_time', 'expiration_time']) {
        if (body[key] instanceof Date) body[key] = body[key].toISOString();
      }
      const rights = { ...options, useMasterKey: options.useMasterKey === undefined ? true : options.useMasterKey };
      const { headers } = await request('POST', '/push', encode(body, { pointers: true }), rights);
      return headerOf(headers, 'x-parse-push-status-id');
    }, options);
  },

  getPushStatus(id, options = {}) {
    return new types.Query('_PushStatus').get(id, { ...options, useMasterKey: true });
  },
};

const Analytics = {
  track(name, dimensions = {}, options = {}) {
    const trimmed = String(name || '').trim();
    if (!trimmed) throw new TypeError('A name for the custom event must be provided');
    for (const [key, value] of Object.entries(dimensions)) {
      if (typeof value !== 'string') throw new TypeError(`The dimension ${key} must be a string.`);
    }
    return promised(answerOf('POST', `/events/${encodeURIComponent(trimmed)}`, { dimensions }, options), options);
  },
};

module.exports = { Analytics, Config, Push };
