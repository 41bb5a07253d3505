'use strict';
// The SDK whose objects handlers get: this runtime's own, unless the code's folder has the package `parse`.
let current = require('./own');

module.exports = {
  /** The SDK's interface for runs: own.js has all its members. */
  sdk: () => current,
  use(sdk) {
    current = sdk;
  },
};
