'use strict';
// REST requests of the SDK, with the rights that their options and the run give them.
const host = require('../host');
const { currentRun } = require('../scope');
const { settings } = require('../settings');

/** Who a request acts as: the master key before a session token before the caller, when the settings say so. */
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
 * @param data the query of a GET, the body of others
 * @returns a promise of `{ status, body, headers }`
 */
function request(method, path, data, options = {}) {
  const content = data === undefined ? {} : method === 'GET' ? { query: data } : { body: data };
  const context = options.context && typeof options.context === 'object' ? options.context : {};
  return host.ask({ method, path, ...content, auth: authOf(options || {}), context });
}

/** The request's answer alone. */
async function answerOf(method, path, data, options) {
  return (await request(method, path, data, options)).body;
}

module.exports = { answerOf, request };
