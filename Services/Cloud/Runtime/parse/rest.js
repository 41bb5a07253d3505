'use strict';
// REST requests of the SDK, with the rights from their options and the run.
const host = require('../host');
const { currentRun } = require('../scope');
const { settings } = require('../settings');

/** The identity of a request: the master key, else a session token, else the caller if the settings say so. */
function authOf(options) {
  const run = currentRun();
  const byDefault = settings.master || !!(run && run.usesMasterKey);
  const master = options.useMasterKey === undefined ? byDefault : !!options.useMasterKey;
  const caller = settings.config.actAsCaller && run && run.caller.user ? run.caller.user.sessionToken : null;
  const sessionToken = master ? null : options.sessionToken || caller || null;
  return { master, sessionToken, installationId: options.installationId || null };
}

/**
 * Sends a request through the host.
 * @param data the query of a GET, otherwise the body
 * @returns a promise of `{ status, body, headers }`
 */
function request(method, path, data, options = {}) {
  const content = data === undefined ? {} : method === 'GET' ? { query: data } : { body: data };
  const context = options.context && typeof options.context === 'object' ? options.context : {};
  return host.ask({ method, path, ...content, auth: authOf(options || {}), context });
}

/** The body of the answer only. */
async function answerOf(method, path, data, options) {
  return (await request(method, path, data, options)).body;
}

module.exports = { answerOf, request };
