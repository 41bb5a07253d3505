'use strict';
// Calls a handler: a function of the request that returns its result or a promise of it, or one in hosted Parse's style
// that answers through a second argument.
const { ofResponse } = require('./errors');

/** Handlers with two parameters or more expect `response`, or `status` for jobs. */
const isHosted = (handler) => handler.length >= 2;
const isAsync = (handler) => handler.constructor && handler.constructor.name === 'AsyncFunction';

/** @param message implements `response.message()` of a job */
async function call(handler, request, message = () => {}) {
  return isHosted(handler) ? callHosted(handler, request, message) : handler(request);
}

/**
 * The first call of success() or error() counts. The return value of a plain handler is ignored, as on hosted Parse,
 * unless it is a promise that rejects. An async handler may also return its result.
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
