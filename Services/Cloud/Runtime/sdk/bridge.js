'use strict';
// The transport that replaces the network layer of the package `parse`: its requests go to the host, with the rights
// from the options and the run. It contains no keys.
const { currentRun } = require('../scope');
const { settings, mountPath } = require('../settings');
const { headerOf } = require('../parse/headers');
const { request } = require('../parse/rest');

/** Headers with which a REST API returns the id of started work; the SDK resolves with them. */
const BEGUN = ['x-parse-job-status-id', 'x-parse-push-status-id'];

/** A RESTController for CoreManager. */
function bridge(Parse) {
  const asTheirs = (error) => new Parse.Error(error.code, error.message);
  return {
    request(method, path, data, options) {
      const rights = options || {};
      return promised(Parse, send(method, `/${path}`, content(method, path, data), rights), (answer) => {
        const begun = BEGUN.map((name) => headerOf(answer.headers, name)).find(Boolean);
        const body = begun === undefined ? answer.body : begun;
        return rights.returnStatus ? { ...body, _status: answer.status } : body;
      }, asTheirs);
    },

    /** A request with its own URL and headers, as for a file. */
    ajax(method, url, data, headers = {}) {
      const sent = sending(method, url, data, headers);
      return promised(Parse, sent, ({ body, status }) => ({ response: body, status }), asTheirs);
    },

    handleError: (error) => Promise.reject(error),
  };
}

/** Removes functions, and members that identify the caller: those belong to the request's options. */
function content(method, path, data) {
  const plain = data && typeof data === 'object' ? JSON.parse(JSON.stringify(data)) : {};
  if (path === 'batch' && Array.isArray(plain.requests)) {
    for (const one of plain.requests) one.path = mountPath() + relative(one.path);
  }
  return method === 'DELETE' && Object.keys(plain).length === 0 ? undefined : plain;
}

/** The path below the mount: the package prepends the path of its server's URL. */
function relative(path) {
  const mount = mountPath();
  return mount && path.startsWith(`${mount}/`) ? path.slice(mount.length) : path;
}

async function send(method, path, data, options) {
  return request(method, path, data, options);
}

async function sending(method, url, data, headers) {
  const base = settings.serverURL.replace(/\/+$/, '');
  if (!String(url).startsWith(`${base}/`)) throw new Error(`The SDK can send requests to ${base} only, not to ${url}.`);
  if (data && typeof data !== 'string') throw new Error('A body must be text; pass files as base64.');
  const rights = {
    useMasterKey: headerNames(headers).has('x-parse-master-key') || undefined,
    sessionToken: headerOf(headers, 'x-parse-session-token'),
  };
  return request(method, url.slice(base.length), data ? JSON.parse(data) : undefined, rights);
}

const headerNames = (headers) => new Set(Object.keys(headers).map((name) => name.toLowerCase()));

/**
 * The answer as a promise of the package's kind. Before version 2.0 it has its own kind, which also passes the status
 * to callbacks and does not catch their exceptions.
 */
function promised(Parse, sent, result, asTheirs) {
  if (!Parse.Promise) return sent.then(result, (error) => Promise.reject(asTheirs(error)));
  const promise = new Parse.Promise();
  const settle = (work) => {
    try {
      work();
    } catch (error) {
      const run = currentRun();
      if (!run) throw error;
      run.fail(error);
    }
  };
  sent.then(
    (answer) => settle(() => promise.resolve(result(answer), answer.status)),
    (error) => settle(() => promise.reject(asTheirs(error))),
  );
  return promise;
}

module.exports = { bridge };
