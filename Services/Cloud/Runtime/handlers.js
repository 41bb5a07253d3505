'use strict';
// Calls a handler: a function of the request that returns its result or a promise of it, or one of hosted Parse's time
// that answers through a second argument.
const { ofResponse } = require('./errors');

/** Handlers with two parameters or more expect `response`, or `status` for jobs. */
const isHosted = (handler) => handler.length >= 2;
const isAsync = (handler) => handler.constructor && handler.constructor.name === 'AsyncFunction';

/** @param message what `response.message()` of a job does */
async function call(handler, request, message = () => {}) {
  return isHosted(handler) ? callHosted(handler, request, message) : handler(request);
}

/**
 * The first of success() and error() counts. What a plain handler returns means nothing, as on hosted Parse, unless it
 * is a promise that fails; an async one may also return its result.
 */
function callHosted(handler, request, message) {
  return new Promise((resolve, reject) => {
    const response = { success: resolve, error: (...values) => reject(ofResponse(values)), message };
    const returned = handler(request, response);
    if (returned === null || typeof returned !== 'object' || typeof returned.then !== 'function') return;
    returned.then((value) => {
      if (isAsync(handler) && value !== undefined) resolve(value);
    }, reject);
  });
}

module.exports = { call };
