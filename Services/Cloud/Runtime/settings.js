'use strict';
// The application's data that the host sent with the code: one application per process.

/**
 * - master: main.js called Parse.Cloud.useMasterKey() while it was loaded: every run uses the master key.
 * - config.actAsCaller: requests without options carry the caller's session, as on hosted Parse.
 * - config.providers: "own" when the modules for Stripe and Mailgun use the code's accounts, else "shop".
 */
const settings = { applicationId: '', serverURL: '', folder: '', config: {}, master: false };

/** The path of the server's URL, such as "/parse": the prefix of paths in a batch. */
function mountPath() {
  try {
    return new URL(settings.serverURL).pathname.replace(/\/+$/, '');
  } catch {
    return '';
  }
}

module.exports = { settings, mountPath };
