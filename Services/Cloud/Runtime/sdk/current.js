'use strict';
// The SDK whose objects handlers get: this runtime's own, unless the code's folder has the package `parse`.
let current = require('./own');

module.exports = {
  /** What runs know of the SDK: see own.js, which has every member. */
  sdk: () => current,
  use(sdk) {
    current = sdk;
  },
};
