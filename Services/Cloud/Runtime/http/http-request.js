'use strict';
// Parse.Cloud.httpRequest, over Node's own client.
const http = require('node:http');
const https = require('node:https');
const querystring = require('node:querystring');
const { HTTPResponse } = require('./http-response');
const { promised } = require('../parse/promise');

/** Maximum size of an answer in bytes; larger ones are refused, because the whole answer is kept in memory. */
const BODY_BYTES_MAX = 20 * 1024 * 1024;
/** Timeout for a silent server, in milliseconds. */
const SILENCE_MAX = 60_000;
const REDIRECTS_MAX = 10;

/** The body and headers of a request: an object is encoded by the content type, without one as a form. */
function content(body, headers) {
  const sent = { ...headers };
  const typeKey = Object.keys(sent).find((key) => key.toLowerCase() === 'content-type');
  if (body === undefined || body === null) return { sent };
  if (Buffer.isBuffer(body) || typeof body === 'string') return { bytes: Buffer.from(body), sent };
  if (body instanceof Uint8Array) return { bytes: Buffer.from(body), sent };
  if (typeof body !== 'object') return { bytes: Buffer.from(String(body)), sent };
  if (!typeKey) sent['Content-Type'] = 'application/x-www-form-urlencoded';
  const isJSON = typeKey && /json/i.test(sent[typeKey]);
  return { bytes: Buffer.from(isJSON ? JSON.stringify(body) : querystring.stringify(body)), sent };
}

function addressOf({ url, params }) {
  if (typeof url !== 'string') throw new TypeError('Parse.Cloud.httpRequest needs a url.');
  const address = new URL(url);
  if (!['http:', 'https:'].includes(address.protocol)) throw new TypeError(`Cannot request ${address.protocol} URLs.`);
  const given = typeof params === 'string' ? querystring.parse(params) : params || {};
  for (const [key, value] of Object.entries(given)) {
    for (const one of [].concat(value)) address.searchParams.append(key, one);
  }
  return address;
}

/** Sends one request and reads its answer. */
function exchange(address, method, headers, bytes) {
  const client = address.protocol === 'https:' ? https : http;
  const sent = bytes ? { ...headers, 'Content-Length': bytes.length } : headers;
  return new Promise((resolve, reject) => {
    const request = client.request(address, { method, headers: sent, timeout: SILENCE_MAX }, (response) => {
      const chunks = [];
      let length = 0;
      response.on('data', (chunk) => {
        length += chunk.length;
        if (length > BODY_BYTES_MAX) request.destroy(new Error(`The answer has more than ${BODY_BYTES_MAX} bytes.`));
        else chunks.push(chunk);
      });
      response.on('error', reject);
      response.on('end', () => {
        resolve(new HTTPResponse(response.statusCode, response.headers, Buffer.concat(chunks)));
      });
    });
    request.on('timeout', () => request.destroy(new Error(`No answer from ${address.host} within a minute.`)));
    request.on('error', reject);
    request.end(bytes);
  });
}

async function follow(options) {
  let address = addressOf(options);
  let method = (options.method || 'GET').toUpperCase();
  let { bytes, sent } = content(options.body, options.headers);
  for (let redirects = 0; ; redirects += 1) {
    const response = await exchange(address, method, sent, bytes);
    const isRedirect = response.status >= 300 && response.status < 400 && response.headers.location;
    if (!options.followRedirects || !isRedirect) return response;
    if (redirects === REDIRECTS_MAX) throw new Error(`More than ${REDIRECTS_MAX} redirects.`);
    const next = new URL(response.headers.location, address);
    // Credentials are sent only to the host for which they were given.
    if (next.host !== address.host) sent = withoutCredentials(sent);
    if (response.status !== 307 && response.status !== 308 && method !== 'HEAD') [method, bytes] = ['GET', undefined];
    address = addressOf({ url: next.href });
  }
}

function withoutCredentials(headers) {
  return Object.fromEntries(Object.entries(headers).filter(([key]) => !/^(authorization|cookie)$/i.test(key)));
}

/** Sends a request; rejects with the response for a status of 400 and more, and below 200. */
function httpRequest(options) {
  return promised(async () => {
    const response = await follow(options || {});
    if (response.status < 200 || response.status >= 400) throw response;
    return response;
  }, options);
}

module.exports = { httpRequest };
