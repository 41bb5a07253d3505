'use strict';
// Loads main.js, with what require() means in cloud code.
const fs = require('node:fs');
const Module = require('node:module');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { useProxy } = require('./http/network');
const { sdk, use } = require('./sdk/current');
const own = require('./sdk/own');
const ofPackage = require('./sdk/package');
const { settings } = require('./settings');

/** The names under which code requires the SDK. */
const SDK = new Set(['parse', 'parse/node', 'parse/node.js', 'parse/dist/parse']);
/** Modules that hosted Parse had built in. */
const HOSTED = {
  underscore: 'Install it beside main.js (npm install underscore), or use Parse._, which has the most used functions.',
  lodash: 'Install it beside main.js (npm install lodash).',
};

/** Those of them that are here, unless the folder has modules of the name. */
const BUILT_IN = { stripe: './hosted/stripe', mailgun: './hosted/mailgun' };

function isInstalled(...request) {
  try {
    Module._resolveFilename(...request);
    return true;
  } catch {
    return false;
  }
}

/** Makes require() know the SDK, and the paths below `cloud/` that hosted Parse's code uses. */
function hookRequire() {
  const load = Module._load;
  Module._load = function (request, ...others) {
    if (SDK.has(request)) return sdk().Parse;
    if (Object.hasOwn(BUILT_IN, request) && !isInstalled(request, ...others)) return require(BUILT_IN[request]);
    return load.call(this, request, ...others);
  };
  const resolve = Module._resolveFilename;
  Module._resolveFilename = function (request, ...others) {
    try {
      return resolve.call(this, inFolder(request), ...others);
    } catch (error) {
      if (error.code === 'MODULE_NOT_FOUND' && HOSTED[request]) {
        error.message = `Cannot find module '${request}'. ${HOSTED[request]}`;
      }
      throw error;
    }
  };
}

/** `cloud/names.js` is the file names.js of the folder, where there is one. */
function inFolder(request) {
  if (!request.startsWith('cloud/')) return request;
  const file = path.join(settings.folder, request.slice('cloud/'.length));
  return ['', '.js', '.json', '/index.js'].some((end) => fs.existsSync(file + end)) ? file : request;
}

let loaded = false;

/** Loads the code of a folder, once a process. Rejects with what main.js threw. */
async function load({ folder, applicationId, serverURL, config }) {
  if (loaded) throw new Error('This process has loaded its code already.');
  loaded = true;
  Object.assign(settings, { folder, applicationId, serverURL, config: config || {} });
  if (settings.config.proxy) useProxy(settings.config.proxy);
  // Before require() is changed, by which the package finds its own parts.
  use(ofPackage.load(folder) || own);
  globalThis.Parse = sdk().Parse;
  hookRequire();
  const main = path.join(folder, 'main.js');
  try {
    // Code that exports a promise is loaded when that is done.
    await Module.createRequire(main)(main);
  } catch (error) {
    if (error.code !== 'ERR_REQUIRE_ESM' && error.code !== 'ERR_REQUIRE_ASYNC_MODULE') throw error;
    await import(pathToFileURL(main).href);
  }
}

module.exports = { load };
