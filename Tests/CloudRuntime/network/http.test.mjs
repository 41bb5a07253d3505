// Parse.Cloud.httpRequest against a real server.
import assert from 'node:assert/strict';
import http from 'node:http';
import { test } from 'node:test';
import { FakeHost } from '../fake-host.mjs';

test('httpRequest', async (suite) => {
  const server = http.createServer((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const url = new URL(request.url, 'http://x');
      if (url.pathname === '/redirect') return response.writeHead(302, { Location: '/echo?r=1' }).end();
      if (url.pathname === '/bad') return response.writeHead(404).end('nothing here');
      response.writeHead(200, { 'Content-Type': 'application/json', 'Set-Cookie': 'a=b' });
      const { method, headers } = request;
      const body = Buffer.concat(chunks).toString();
      return response.end(JSON.stringify({ method, url: request.url, type: headers['content-type'], body }));
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const base = `http://127.0.0.1:${server.address().port}`;
  const rows = [
    [
      'a GET with parameters',
      `return (await Parse.Cloud.httpRequest({ url: '${base}/echo', params: { q: 'a b' } })).data;`,
      { method: 'GET', url: '/echo?q=a+b', body: '' },
    ],
    [
      'parameters as a text',
      `return (await Parse.Cloud.httpRequest({ url: '${base}/echo?x=1', params: 'q=a' })).data.url;`,
      '/echo?x=1&q=a',
    ],
    [
      'a form',
      `
        return (await Parse.Cloud.httpRequest({ method: 'POST', url: '${base}/echo', body: { a: 1,
        b: 'x y' } })).data;
      `,
      { method: 'POST', url: '/echo', type: 'application/x-www-form-urlencoded', body: 'a=1&b=x%20y' },
    ],
    [
      'JSON',
      `
        return (await Parse.Cloud.httpRequest({ method: 'PUT', url: '${base}/echo', headers: {
        'content-type': 'application/json' }, body: { a: 1 } })).data;
      `,
      { method: 'PUT', url: '/echo', type: 'application/json', body: '{"a":1}' },
    ],
    [
      'the answer',
      `
        const r = await Parse.Cloud.httpRequest({ url: '${base}/echo' }); return [r.status,
        r.headers['content-type'], r.cookies, r.text.length > 5, Buffer.isBuffer(r.buffer)];
      `,
      [200, 'application/json', ['a=b'], true, true],
    ],
    ['no redirect', `return (await Parse.Cloud.httpRequest({ url: '${base}/redirect' })).status;`, 302],
    [
      'a redirect',
      `return (await Parse.Cloud.httpRequest({ url: '${base}/redirect', followRedirects: true })).data.url;`,
      '/echo?r=1',
    ],
    [
      'a failure',
      `return Parse.Cloud.httpRequest({ url: '${base}/bad' }).catch((r) => [r.status, r.text]);`,
      [404, 'nothing here'],
    ],
    [
      'a failure that goes on',
      `return Parse.Cloud.httpRequest({ url: '${base}/bad' });`,
      { code: 141, message: 'Request failed with response code 404' },
    ],
    [
      'no server',
      "return Parse.Cloud.httpRequest({ url: 'http://127.0.0.1:1/' }).catch((e) => e.code);",
      'ECONNREFUSED',
    ],
    [
      'another protocol',
      "return Parse.Cloud.httpRequest({ url: 'file:///etc/passwd' });",
      { code: 141, message: 'Cannot request file: URLs.' },
    ],
  ];
  const functions = rows.map(([, body], n) => `Parse.Cloud.define('f${n}', async () => { ${body} });`);
  functions.push(`Parse.Cloud.define('hosted', function (request, response) {
    Parse.Cloud.httpRequest({
      url: '${base}/bad',
      success: function () { response.success(); },
      error: function (r) { response.error('status ' + r.status); },
    });
  });`);
  const host = await FakeHost.start(functions.join('\n'));
  try {
    for (const [n, [name, , expected]] of rows.entries()) {
      await suite.test(name, async () => {
        const outcome = await host.run({ kind: 'function', name: `f${n}` });
        if (outcome.t === 'done') assert.deepEqual(outcome.result, expected);
        else assert.deepEqual({ code: outcome.error.code, message: outcome.error.message }, expected);
      });
    }
    await suite.test("hosted Parse's callbacks", async () => {
      assert.equal((await host.run({ kind: 'function', name: 'hosted' })).error.message, 'status 404');
    });
  } finally {
    await host.stop();
    server.close();
  }
});
