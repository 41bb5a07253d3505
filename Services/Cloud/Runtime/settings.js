'use strict';
// What the host said of the application when it sent the code: one application a process.

/** - master: main.js called Parse.Cloud.useMasterKey() while it was loaded: every run uses the master key.
 *  - config.actAsCaller: requests without options carry the caller's session, as on hosted Parse.
 *  - config.providers: "own" where the modules for Stripe and Mailgun use the code's accounts, else "shop". */
const settings = { applicationId: '', serverURL: '', folder: '', config: {}, master: false };

/** The path of the server's URL, such as "/parse": what paths in a batch begin with. */
function mountPath() {
  try {
    return new URL(settings.serverURL).pathname.replace(/\/+$/, '');
  } catch {
    return '';
  }
}

module.exports = { settings, mountPath };
