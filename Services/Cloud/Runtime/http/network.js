'use strict';
// Network access for processes without a network: a proxy behind a Unix socket of the host, used with CONNECT. Every
// agent of http and https uses it, also agents that modules create, and so does fetch. There is no other route to the
// network.
const http = require('node:http');
const https = require('node:https');
const net = require('node:net');
const tls = require('node:tls');

/** Maximum bytes of the proxy's answer to CONNECT. */
const HEAD_BYTES_MAX = 4096;
/** The global in which Node's own fetch finds its dispatcher. */
const DISPATCHER = Symbol.for('undici.globalDispatcher.1');
const CODE = 'ERR_CLOUD_NETWORK';

function failure(message) {
  return Object.assign(new Error(message), { code: CODE });
}

/** The server name for TLS; empty for an address. */
function serverName({ servername, host }) {
  if (servername) return servername;
  return net.isIP(host) ? '' : host;
}

/** Routes all connections of this process, except to local sockets, through the proxy at a path. */
function useProxy(path) {
  const { connect } = net.Socket.prototype;
  const open = (target, done) => tunnel(() => connect.call(new net.Socket(), { path }), target, done);

  http.Agent.prototype.createConnection = function (options, done) {
    if (options.socketPath) return net.createConnection({ ...options, path: options.socketPath }, done);
    open(targetOf(options, 80), done);
    return undefined;
  };
  https.Agent.prototype.createConnection = function (options, done) {
    open(targetOf(options, 443), (error, socket) => (error ? done(error) : secured(socket, options, done)));
    return undefined;
  };
  net.Socket.prototype.connect = function (...values) {
    const first = Array.isArray(values[0]) ? values[0][0] : values[0];
    if (first && typeof first === 'object' ? first.path : typeof first === 'string') return connect.apply(this, values);
    const text = 'With a list in SATCHEL_CLOUD_NETWORK, cloud code can connect by http, https and fetch only.';
    process.nextTick(() => this.destroy(failure(text)));
    return this;
  };
  useInFetch(open);
}

function targetOf({ host, hostname, port }, standard) {
  const name = String(hostname || host || 'localhost').replace(/^\[|\]$/g, '');
  return { host: name, port: Number(port) || standard };
}

/** Starts TLS on an open connection. */
function secured(socket, options, done) {
  const { host } = targetOf(options, 443);
  const given = { ...options, host, socket, servername: serverName({ ...options, host }) };
  delete given.path;
  const secure = tls.connect(given);
  const failed = (error) => done(error);
  secure.once('error', failed);
  secure.once('secureConnect', () => {
    secure.removeListener('error', failed);
    done(null, secure);
  });
}

/** A connection to a host, usable once the proxy has opened it. */
function tunnel(begin, { host, port }, done) {
  const socket = begin();
  const authority = `${net.isIPv6(host) ? `[${host}]` : host}:${port}`;
  let head = Buffer.alloc(0);
  let settled = false;
  const finish = (error) => {
    if (settled) return;
    settled = true;
    socket.removeListener('readable', read);
    socket.removeListener('end', ended);
    if (error) {
      socket.destroy();
      done(error);
      return;
    }
    socket.removeListener('error', finish);
    done(null, socket);
  };
  const ended = () => finish(refusal(head) || failure(`The proxy ended the connection to ${authority}.`));
  const read = () => {
    for (let chunk = socket.read(); chunk; chunk = socket.read()) head = Buffer.concat([head, chunk]);
    const end = head.indexOf('\r\n\r\n');
    if (end < 0 && head.length > HEAD_BYTES_MAX) finish(failure('The answer of the proxy is invalid.'));
    if (end < 0 || !/^HTTP\/1\.\d 200 /.test(head.toString('latin1', 0, 20))) return;
    const rest = head.subarray(end + 4);
    if (rest.length) socket.unshift(rest);
    finish();
  };
  socket.on('error', finish);
  socket.on('readable', read);
  socket.on('end', ended);
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
}

/** The text of a refusal. */
function refusal(head) {
  const end = head.indexOf('\r\n\r\n');
  return end < 0 ? null : failure(head.toString('utf8', end + 4) || 'The proxy refused the connection.');
}

/** The classes of fetch exist only after its first call, which needs no network. */
function useInFetch(open) {
  const { fetch } = globalThis;
  if (!fetch) return;
  let ready = null;
  globalThis.fetch = async (...values) => {
    ready = ready || prepared(fetch, open);
    await ready;
    return fetch(...values);
  };
}

async function prepared(fetch, open) {
  await fetch('data:,');
  const standard = globalThis[DISPATCHER];
  if (!standard) throw failure('fetch cannot use the proxy in this version of Node; use https or httpRequest.');
  const connect = (options, done) => {
    const isSecure = options.protocol === 'https:';
    const target = targetOf(options, isSecure ? 443 : 80);
    open(target, (error, socket) => {
      if (error || !isSecure) return done(error, socket);
      return secured(socket, { host: target.host, servername: options.servername, ALPNProtocols: ['http/1.1'] }, done);
    });
  };
  globalThis[DISPATCHER] = new standard.constructor({ connect });
}

module.exports = { useProxy };
