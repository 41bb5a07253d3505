'use strict';
// Loads main.js, and defines require() for cloud code.
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
/** Modules that were built into hosted Parse. */
const HOSTED = {
  underscore: 'Install it beside main.js (npm install underscore), or use Parse._, which has the most used functions.',
  lodash: 'Install it beside main.js (npm install lodash).',
};

/** Those of them that this runtime provides, unless the folder has modules with the same name. */
const BUILT_IN = { stripe: './hosted/stripe', mailgun: './hosted/mailgun' };

function isInstalled(...request) {
  try {
    Module._resolveFilename(...request);
    return true;
  } catch {
    return false;
  }
}

/**
 * Makes require() resolve the SDK, the built-in modules, and the paths below `cloud/` that code for hosted Parse uses.
 */
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

/** Resolves `cloud/names.js` to the file names.js of the folder, if it exists. */
function inFolder(request) {
  if (!request.startsWith('cloud/')) return request;
  const file = path.join(settings.folder, request.slice('cloud/'.length));
  return ['', '.js', '.json', '/index.js'].some((end) => fs.existsSync(file + end)) ? file : request;
}

let loaded = false;

/** Loads the code of a folder, once per process. Rejects with the error that main.js threw. */
async function load({ folder, applicationId, serverURL, config }) {
  if (loaded) throw new Error('This process has already loaded its code.');
  loaded = true;
  Object.assign(settings, { folder, applicationId, serverURL, config: config || {} });
  if (settings.config.proxy) useProxy(settings.config.proxy);
  // Before require() is changed, because the package finds its own parts with it.
  use(ofPackage.load(folder) || own);
  globalThis.Parse = sdk().Parse;
  hookRequire();
  const main = path.join(folder, 'main.js');
  try {
    // Code that exports a promise counts as loaded when the promise resolves.
    await Module.createRequire(main)(main);
  } catch (error) {
    if (error.code !== 'ERR_REQUIRE_ESM' && error.code !== 'ERR_REQUIRE_ASYNC_MODULE') throw error;
    await import(pathToFileURL(main).href);
  }
}

module.exports = { load };
