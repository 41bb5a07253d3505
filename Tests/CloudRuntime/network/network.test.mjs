// Network access through the host's proxy: which requests use it, and the errors for unreachable hosts.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs/promises';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { FakeHost } from '../fake-host.mjs';

let folder, plain, secure, proxy;
const asked = [];
const listen = (server, ...place) => new Promise((resolve) => server.listen(...place, () => resolve(server)));

/** A proxy that accepts two names, both of this machine. */
function answer(client) {
  client.on('error', () => {});
  client.once('data', (head) => {
    const [, name] = head.toString().split(' ');
    asked.push(name);
    const server = { 'plain.example:80': plain, 'secure.example:443': secure }[name];
    if (!server) return client.end(`HTTP/1.1 403 Forbidden\r\n\r\nThe setting does not name ${name}.`);
    const upstream = net.connect(server.address().port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      client.pipe(upstream).pipe(client);
    });
    upstream.on('error', () => client.destroy());
    return undefined;
  });
}

before(async () => {
  folder = await fs.mkdtemp(path.join(os.tmpdir(), 'cloud-network-'));
  const [key, certificate] = ['key.pem', 'certificate.pem'].map((name) => path.join(folder, name));
  execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes',
    '-keyout', key, '-out', certificate, '-days', '2', '-subj', '/CN=secure.example',
    '-addext', 'subjectAltName=DNS:secure.example'], { stdio: 'ignore' });
  const said = (request, response) => response.end(`${request.headers.host} ${request.url}`);
  plain = await listen(http.createServer(said), 0, '127.0.0.1');
  const identity = { key: await fs.readFile(key), cert: await fs.readFile(certificate) };
  secure = await listen(https.createServer(identity, said), 0, '127.0.0.1');
  proxy = await listen(net.createServer(answer), path.join(folder, 'proxy'));
  process.env.NODE_EXTRA_CA_CERTS = certificate;
});

after(async () => {
  for (const server of [plain, secure]) server.closeAllConnections();
  for (const server of [plain, secure, proxy]) server.close();
  await fs.rm(folder, { recursive: true });
});

/** The result of a function with this body, in a process that uses the proxy. */
async function result(body) {
  const code = `Parse.Cloud.define('f', async () => { ${body} });`;
  const host = await FakeHost.start(code, { config: { proxy: path.join(folder, 'proxy') } });
  try {
    assert.equal(host.loaded.error, null);
    const outcome = await host.run({ kind: 'function', name: 'f', params: {} });
    return outcome.t === 'done' ? outcome.result : outcome.error.message;
  } finally {
    await host.stop();
  }
}

const read = (module, options) => `
  const text = await new Promise((resolve, reject) => {
    require('${module}').get(${options}, (response) => {
      let text = '';
      response.on('data', (data) => { text += data; }).on('end', () => resolve(text));
    }).on('error', reject);
  });
  return text;`;

for (const [name, body, expected] of [
  ['httpRequest', "return (await Parse.Cloud.httpRequest({ url: 'http://plain.example/a' })).text;",
    'plain.example /a'],
  ['httpRequest with TLS', "return (await Parse.Cloud.httpRequest({ url: 'https://secure.example/a?b' })).text;",
    'secure.example /a?b'],
  ['the module http', read('http', "'http://plain.example/a'"), 'plain.example /a'],
  ['an agent of a module', read('https', `{
    host: 'secure.example', path: '/a', agent: new (require('https').Agent)({ keepAlive: true }),
  }`), 'secure.example /a'],
  ['no agent', read('https', "{ host: 'secure.example', path: '/a', agent: false }"), 'secure.example /a'],
  ['fetch', "return (await fetch('http://plain.example/a')).text();", 'plain.example /a'],
  ['fetch with TLS', "return (await fetch('https://secure.example/a')).text();", 'secure.example /a'],
]) {
  test(`${name} goes through the proxy`, async () => {
    assert.equal(await result(body), expected);
  });
}

test('a host that is not named is refused in the words of the proxy', async () => {
  const text = 'The setting does not name elsewhere.example:8443.';
  assert.equal(await result("await Parse.Cloud.httpRequest({ url: 'https://elsewhere.example:8443/' });"), text);
  assert.equal(await result(`
    try { await fetch('https://elsewhere.example:8443/'); } catch (error) { return error.cause.message; }`), text);
  assert.equal(await result("await Parse.Cloud.httpRequest({ url: 'http://[::1]/' });"),
    'The setting does not name [::1]:80.');
  assert.ok(asked.includes('elsewhere.example:8443'));
});

test('TLS looks at the name of the host', async () => {
  const body = read('https', "{ host: 'secure.example', servername: 'other.example', path: '/' }");
  assert.match(await result(body), /other\.example/);
});

test('a connection of another kind fails clearly', async () => {
  const { port } = plain.address();
  const body = `return new Promise((resolve) => {
    require('net').connect(${port}, '127.0.0.1').on('error', (error) => resolve([error.code, error.message]));
  });`;
  const [code, text] = await result(body);
  assert.equal(code, 'ERR_CLOUD_NETWORK');
  assert.match(text, /by http, https and fetch only/);
});
