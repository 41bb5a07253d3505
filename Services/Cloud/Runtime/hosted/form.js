'use strict';
// Forms in the format of Stripe and Mailgun, and requests that send one.
const { httpRequest } = require('../http/http-request');

/** Maximum nesting of objects in a form. */
const DEPTH_MAX = 8;

/**
 * The name-value pairs of a form: members of a nested object are `card[number]`, elements of an array `to[]`, or `to`
 * repeated.
 */
function pairs(values, { brackets }, name = '', depth = 0) {
  if (depth > DEPTH_MAX) throw new RangeError('The parameters are nested too deep.');
  return Object.entries(values).flatMap(([key, value]) => {
    const full = name ? `${name}[${key}]` : key;
    if (value === undefined || value === null) return [];
    if (Array.isArray(value)) {
      return value.flatMap((one, index) => {
        const place = brackets ? `${full}[${index}]` : full;
        return isPlain(one) ? pairs(one, { brackets }, place, depth + 1) : [[place, String(one)]];
      });
    }
    return isPlain(value) ? pairs(value, { brackets }, full, depth + 1) : [[full, textOf(value)]];
  });
}

const isPlain = (value) => value !== null && typeof value === 'object' && !(value instanceof Date);
const textOf = (value) => (value instanceof Date ? String(Math.floor(value.getTime() / 1000)) : String(value));

/**
 * Sends a form, in the URL of a GET and in the body otherwise. Rejects with the response for a status of 400 and more.
 * @param credentials name and password
 * @param options `brackets`: whether elements of arrays have their number
 */
function sendForm(method, url, values, credentials, options = { brackets: true }) {
  const form = new URLSearchParams(pairs(values || {}, options)).toString();
  const headers = { Authorization: `Basic ${Buffer.from(credentials.join(':')).toString('base64')}` };
  if (method === 'GET') return httpRequest({ method, url: form ? `${url}?${form}` : url, headers });
  headers['Content-Type'] = 'application/x-www-form-urlencoded';
  return httpRequest({ method, url, headers, body: form });
}

module.exports = { pairs, sendForm };
