'use strict';
const { settings } = require('../settings');

/** The host decides these; code that sets them, as main.js of Parse Server may, changes nothing. */
function fixed(Parse) {
  const define = (name, value) => {
    Object.defineProperty(Parse, name, { get: value, set() {}, enumerable: true, configurable: true });
  };
  define('applicationId', () => settings.applicationId);
  define('serverURL', () => settings.serverURL);
  // The key stays with the host: requests say that they want its rights.
  for (const name of ['masterKey', 'maintenanceKey', 'javaScriptKey', 'javascriptKey']) define(name, () => undefined);
}

module.exports = { fixed };
