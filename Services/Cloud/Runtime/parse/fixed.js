'use strict';
const { settings } = require('../settings');

/** The host decides these values; assignments by code, as in main.js of Parse Server, have no effect. */
function fixed(Parse) {
  const define = (name, value) => {
    Object.defineProperty(Parse, name, { get: value, set() {}, enumerable: true, configurable: true });
  };
  define('applicationId', () => settings.applicationId);
  define('serverURL', () => settings.serverURL);
  // The host keeps the key; requests only state that they use its rights.
  for (const name of ['masterKey', 'maintenanceKey', 'javaScriptKey', 'javascriptKey']) define(name, () => undefined);
}

module.exports = { fixed };
