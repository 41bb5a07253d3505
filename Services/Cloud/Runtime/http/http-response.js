'use strict';
const querystring = require('node:querystring');

/** The answer to Parse.Cloud.httpRequest. */
class HTTPResponse {
  constructor(status, headers, buffer) {
    this.status = status;
    this.headers = headers;
    this.cookies = headers['set-cookie'];
    this.buffer = buffer;
    // Clients see this message when the code throws the answer as an error.
    Object.defineProperty(this, 'message', { value: `Request failed with response code ${status}` });
  }

  get body() {
    return this.buffer;
  }

  get text() {
    return this.buffer.toString('utf8');
  }

  /** The body as JSON, or as a form when the type says so; undefined when it is neither. */
  get data() {
    if (/x-www-form-urlencoded/i.test(this.headers['content-type'] || '')) return { ...querystring.parse(this.text) };
    try {
      return JSON.parse(this.text);
    } catch {
      return undefined;
    }
  }

  toJSON() {
    return { status: this.status, headers: this.headers, text: this.text };
  }
}

module.exports = { HTTPResponse };
